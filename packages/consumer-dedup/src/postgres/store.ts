import { setTimeout as delay } from 'node:timers/promises';
import { DedupConfigError, DedupError, StoreSetupError, StoreUnavailableError } from '../errors.ts';
import type {
  DedupTransaction,
  MaintenanceStep,
  StoredOffset,
  TransactionSettings,
  TransactionStore,
} from '../store.ts';
import type { Begun, Database, IsolationLevel } from './database.ts';
import { lockOf } from './generations.ts';
import { maintain } from './maintenance.ts';
import { type TableNames, tableNames } from './names.ts';
import { SCHEMA_VERSION, schemaSql } from './schema.ts';
import { isRefusal, wantsRetry } from './sql-state.ts';
import { type ClaimStatements, claimStatements, type OffsetStatements, offsetStatements } from './statements.ts';
import { explain, PostgresTransaction, StaleEpoch } from './transaction.ts';

export interface PostgresStoreOptions {
  /** `name` or `schema.name`: what the names of all tables begin with. `sendonce_dedup` by default. */
  readonly table?: string;
  /** Of the handler's transaction. `read committed` by default; with the others, serialization failures run the handler again. */
  readonly isolationLevel?: IsolationLevel;
  /** How often a transaction is begun, at most, when the database ends it by a deadlock or a serialization failure. 10 by default. */
  readonly maxAttempts?: number;
}

/** A store whose tables `ensureSchema` can create. */
export interface PostgresStore<Client> extends TransactionStore<Client> {
  /** Creates what is missing, as the shipped migration does. Safe to call from many processes at once. */
  ensureSchema(): Promise<void>;
}

const ISOLATION_LEVELS: readonly IsolationLevel[] = ['read committed', 'repeatable read', 'serializable'];
const MIN_SERVER_VERSION = 130_000;
const SETUP_TIMEOUT_MS = 30_000;
const RETRY_BACKOFF_MS = 5;
const RETRY_BACKOFF_MAX_MS = 500;
/** A transaction that finds a newer epoch begins again; epochs change far too rarely for this many in a row. */
const MAX_STALE_EPOCHS = 20;
/** Serializes concurrent `ensureSchema`: CREATE TABLE IF NOT EXISTS fails when two run at the same moment. */
const SCHEMA_LOCK = 7_310_582_441;

interface EpochInUse {
  readonly epoch: number;
  readonly statements: ClaimStatements;
}

function epochOf(names: TableNames, epoch: number): EpochInUse {
  return { epoch, statements: claimStatements(names, epoch) };
}

/** The store on a {@link Database}, which is all that tells PostgreSQL and PGlite apart. */
export class DatabaseStore<Client> implements PostgresStore<Client> {
  readonly kind = 'transaction';
  readonly #database: Database<Client>;
  readonly #names: TableNames;
  readonly #isolationLevel: IsolationLevel;
  readonly #maxAttempts: number;
  readonly #offsetStatements: OffsetStatements;
  /** The last known; a transaction that finds another one begins again. */
  #epochInUse: EpochInUse;

  constructor(database: Database<Client>, options: PostgresStoreOptions) {
    const { table, isolationLevel = 'read committed', maxAttempts = 10, ...unknown } = options;
    const [other] = Object.keys(unknown);
    if (other !== undefined) throw new DedupConfigError(`${other}: is not an option of this store`, [other]);
    if (!ISOLATION_LEVELS.includes(isolationLevel)) {
      throw new DedupConfigError(
        `isolationLevel: is ${JSON.stringify(isolationLevel)}; it must be one of ${ISOLATION_LEVELS.join(', ')}`,
        ['isolationLevel'],
      );
    }
    if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1) {
      throw new DedupConfigError(`maxAttempts: is ${maxAttempts}; it must be a whole number above 0`, ['maxAttempts']);
    }
    this.#database = database;
    this.#names = tableNames(table);
    this.#isolationLevel = isolationLevel;
    this.#maxAttempts = maxAttempts;
    this.#offsetStatements = offsetStatements(this.#names);
    this.#epochInUse = epochOf(this.#names, 0);
  }

  get name(): string {
    return this.#database.name;
  }

  ensureSchema(): Promise<void> {
    const sql = `SELECT pg_advisory_xact_lock(${SCHEMA_LOCK}); ${schemaSql(this.#names)}`;
    return this.#apart(sql, async () => undefined);
  }

  open(retentionMs: number): Promise<void> {
    const { state } = this.#names;
    const select = `SELECT schema_version, epoch::float8 AS epoch, current_setting('server_version_num')::int4 AS server_version FROM ${state}`;
    return this.#apart(select, async ({ open, preamble }) => {
      const [row] = preamble[0]!;
      if (row === undefined) throw new StoreSetupError(`${state} is empty; run ensureSchema() or the migration`);
      const { schema_version: version, server_version: server, epoch } = row;
      if (version !== SCHEMA_VERSION) {
        throw new StoreSetupError(`the tables have schema version ${version}; this package knows ${SCHEMA_VERSION}`);
      }
      if ((server as number) < MIN_SERVER_VERSION) {
        throw new StoreSetupError(`PostgreSQL ${server} is too old; 13 is the oldest that works`);
      }
      this.#moveTo(epoch as number);
      await open.query(
        `UPDATE ${state} SET retention_ms = $1 WHERE retention_ms < $1`,
        [String(retentionMs)],
        SETUP_TIMEOUT_MS,
      );
    });
  }

  async transaction<T>(
    settings: TransactionSettings,
    work: (transaction: DedupTransaction<Client>) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1, staleEpochs = 0; ; ) {
      try {
        return await this.#once(settings, attempt, work);
      } catch (error) {
        if (error instanceof StaleEpoch) {
          if (++staleEpochs < MAX_STALE_EPOCHS) continue;
          throw new StoreUnavailableError('the epoch of the tables changed again and again; nothing was committed');
        }
        if (!wantsRetry(error) || attempt >= this.#maxAttempts) throw error;
        settings.onRetry(attempt, error);
      }
      const backoffMs = Math.min(RETRY_BACKOFF_MS * 2 ** attempt, RETRY_BACKOFF_MAX_MS);
      attempt++;
      // Two that ended each other must not meet again.
      await delay(backoffMs * (0.5 + Math.random()));
    }
  }

  async #once<T>(
    settings: TransactionSettings,
    attempt: number,
    work: (transaction: DedupTransaction<Client>) => Promise<T>,
  ): Promise<T> {
    const { epoch, statements } = this.#epochInUse;
    const transaction = new PostgresTransaction<Client>(
      (first, answerMs) => this.#begin(settings, epoch, first, answerMs),
      attempt,
      settings,
      epoch,
      statements,
      this.#offsetStatements,
    );
    let result: T;
    try {
      result = await work(transaction);
    } catch (error) {
      await transaction.open?.rollback();
      if (error instanceof StaleEpoch) this.#moveTo(error.epoch);
      throw error;
    }
    // Nothing was claimed, so there is nothing to commit.
    if (transaction.open === null) return result;
    let end: 'committed' | 'ended';
    try {
      end = await transaction.open.commit(settings.storeTimeoutMs);
    } catch (cause) {
      if (wantsRetry(cause)) throw cause;
      if (isRefusal(cause))
        throw transactionEnded(`the database refused to commit: ${(cause as Error).message}`, cause);
      throw new StoreUnavailableError(
        'the answer to COMMIT was lost; process the message again: if it was committed, it is a duplicate then',
        { commit: 'unknown', cause },
      );
    }
    if (end === 'ended') {
      throw transactionEnded(
        'a statement of the handler failed and the handler went on; the database had ended the transaction, so nothing was committed',
      );
    }
    return result;
  }

  /**
   * The lock comes first, and LOCK TABLE takes no snapshot: what is read after it is true for as long as the lock is held,
   * at every isolation level. The claim reads the epoch under it, and does nothing when it is not the one the lock is for.
   */
  async #begin(
    { waitMs, storeTimeoutMs }: TransactionSettings,
    epoch: number,
    first: string | null,
    answerMs: number,
  ): Promise<Begun<Client>> {
    const lock = `LOCK TABLE ${this.#names.epochs[lockOf(epoch)]} IN ACCESS SHARE MODE`;
    try {
      return await this.#database.begin({
        isolationLevel: this.#isolationLevel,
        preamble: first === null ? lock : `${lock}; ${first}`,
        timeoutMs: storeTimeoutMs,
        answerMs,
        waitMs,
      });
    } catch (error) {
      throw explain(error);
    }
  }

  #moveTo(epoch: number): void {
    if (epoch !== this.#epochInUse.epoch) this.#epochInUse = epochOf(this.#names, epoch);
  }

  offsets(namespace: string, topics: readonly string[]): Promise<readonly StoredOffset[]> {
    return this.#apart('SELECT 1', async ({ open }) => {
      const rows = await open.query(this.#offsetStatements.read, [namespace, topics], SETUP_TIMEOUT_MS);
      return rows.map((row) => ({
        topic: row.topic as string,
        partition: row.partition as number,
        nextOffset: BigInt(row.next_offset as string),
      }));
    });
  }

  maintain(): Promise<MaintenanceStep> {
    return maintain(this.#database, this.#names);
  }

  /** A transaction of the store's own, beside the messages. */
  async #apart<T>(preamble: string, work: (begun: Begun<Client>) => Promise<T>): Promise<T> {
    let begun: Begun<Client> | null = null;
    try {
      begun = await this.#database.begin({
        isolationLevel: 'read committed',
        preamble,
        timeoutMs: SETUP_TIMEOUT_MS,
        waitMs: SETUP_TIMEOUT_MS,
      });
      const result = await work(begun);
      await begun.open.commit(SETUP_TIMEOUT_MS);
      return result;
    } catch (error) {
      await begun?.open.rollback();
      throw explain(error);
    }
  }
}

function transactionEnded(message: string, cause?: unknown): DedupError {
  return new DedupError(message, { code: 'TRANSACTION_ENDED', cause });
}
