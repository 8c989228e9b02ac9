import { DedupError, InProgressError, StoreSetupError, StoreUnavailableError } from '../errors.ts';
import type { ClaimRequest, DedupTransaction, StoredOffset, StoredRecord, TransactionSettings } from '../store.ts';
import type { OpenTransaction, Row } from './database.ts';
import { isLockTimeout, isSetupProblem, sqlState, wantsRetry } from './sql-state.ts';
import type { ClaimStatements, OffsetStatements } from './statements.ts';

/** What the preamble of the transaction has found out. */
export interface TransactionStart {
  readonly startedAtMs: number;
  /** The `lock_timeout` to give back to the handler. */
  readonly lockTimeout: string;
}

/** One of the store's transactions, in the tables of its epoch. */
export class PostgresTransaction<Client> implements DedupTransaction<Client> {
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly #open: OpenTransaction<Client>;
  readonly #settings: TransactionSettings;
  readonly #lockTimeout: string;
  readonly #statements: ClaimStatements;
  readonly #offsets: OffsetStatements;

  constructor(
    open: OpenTransaction<Client>,
    start: TransactionStart,
    attempt: number,
    settings: TransactionSettings,
    statements: ClaimStatements,
    offsets: OffsetStatements,
  ) {
    this.attempt = attempt;
    this.startedAtMs = start.startedAtMs;
    this.#open = open;
    this.#settings = settings;
    this.#lockTimeout = start.lockTimeout;
    this.#statements = statements;
    this.#offsets = offsets;
  }

  get client(): Client {
    return this.#open.client;
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly ('fresh' | StoredRecord)[]> {
    const refused = await this.#insert(this.#statements.claim, requests);
    if (this.#statements.claimSecond !== null) await this.#claimSecond(this.#statements.claimSecond, requests, refused);
    if (refused.size === 0) return requests.map(() => 'fresh');
    const records = await this.#lookUp(requests.filter(({ key }) => refused.has(nameOf(key))).map(({ key }) => key));
    return requests.map(({ key }) => (refused.has(nameOf(key)) ? records.get(nameOf(key))! : 'fresh'));
  }

  /** Overlap of two generations: what the first table took must be taken by the second one too, or given back. */
  async #claimSecond(statement: string, requests: readonly ClaimRequest[], refused: Set<string>): Promise<void> {
    const taken = requests.filter(({ key }) => !refused.has(nameOf(key)));
    if (taken.length === 0) return;
    const refusedBySecond = await this.#insert(statement, taken);
    const lost = taken.filter(({ key }) => refusedBySecond.has(nameOf(key)));
    if (lost.length === 0) return;
    await this.#query(this.#statements.forget[0]!, [lost.map(({ key }) => key)]);
    for (const { key } of lost) refused.add(nameOf(key));
  }

  async #insert(statement: string, requests: readonly ClaimRequest[]): Promise<Set<string>> {
    const { waitMs, storeTimeoutMs } = this.#settings;
    const rows = await this.#query(
      statement,
      [
        requests.map(({ key }) => key),
        requests.map(({ fingerprint }) => fingerprint),
        requests.map(({ source }) => source.topic),
        requests.map(({ source }) => source.partition),
        requests.map(({ source }) => (source.offset === null ? null : String(source.offset))),
        requests.map(({ note }) => note),
        this.#lockTimeout,
      ],
      storeTimeoutMs + waitMs,
    );
    const keys = (rows[0]?.keys ?? []) as readonly Uint8Array[];
    return new Set(keys.map(nameOf));
  }

  async #lookUp(keys: readonly Buffer[]): Promise<Map<string, StoredRecord>> {
    const rows = await this.#query(this.#statements.lookUp, [keys]);
    const records = new Map(rows.map((row) => [nameOf(row.key as Uint8Array), recordOf(row)]));
    if (records.size !== keys.length) {
      throw new DedupError('a key was refused by a table that does not hold it; something else writes to the tables', {
        code: 'STORE_CHANGED',
      });
    }
    return records;
  }

  async forget(keys: readonly Buffer[]): Promise<void> {
    for (const statement of this.#statements.forget) await this.#query(statement, [keys]);
  }

  async keepResults(results: readonly { readonly key: Buffer; readonly result: string }[]): Promise<void> {
    const parameters = [results.map(({ key }) => key), results.map(({ result }) => result)];
    for (const statement of this.#statements.keepResults) await this.#query(statement, parameters);
  }

  async storeOffsets(offsets: readonly StoredOffset[]): Promise<void> {
    await this.#query(this.#offsets.store, [
      offsets.map(({ topic }) => topic),
      offsets.map(({ partition }) => partition),
      offsets.map(({ nextOffset }) => String(nextOffset)),
    ]);
  }

  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    await this.#command('SAVEPOINT sendonce');
    let result: T;
    try {
      result = await work();
    } catch (error) {
      // A transaction that is to be begun anew need not be repaired.
      if (!wantsRetry(error)) await this.#command('ROLLBACK TO SAVEPOINT sendonce');
      throw error;
    }
    await this.#command('RELEASE SAVEPOINT sendonce');
    return result;
  }

  wantsRetry(error: unknown): boolean {
    return wantsRetry(error);
  }

  #query(sql: string, parameters: readonly unknown[], timeoutMs?: number): Promise<readonly Row[]> {
    return this.#send(sql, [this.#settings.namespace, ...parameters], timeoutMs ?? this.#settings.storeTimeoutMs);
  }

  async #command(sql: string): Promise<void> {
    await this.#send(sql, [], this.#settings.storeTimeoutMs);
  }

  async #send(sql: string, parameters: readonly unknown[], timeoutMs: number): Promise<readonly Row[]> {
    try {
      return await this.#open.query(sql, parameters, timeoutMs);
    } catch (error) {
      throw explain(error);
    }
  }
}

/** Turns what a statement of the store's own failed with into this package's errors; what asks for a retry stays as it is. */
export function explain(cause: unknown): unknown {
  if (cause instanceof DedupError || wantsRetry(cause)) return cause;
  if (isLockTimeout(cause)) {
    return new InProgressError('another consumer is processing one of the keys', { cause });
  }
  if (isSetupProblem(cause)) {
    return new StoreSetupError(
      `the tables are not as they should be: ${(cause as Error).message}; run ensureSchema() or the migration, as a user who may use them`,
      { cause },
    );
  }
  const state = sqlState(cause);
  return new StoreUnavailableError(
    `the database ${state === null ? 'can’t be reached' : `refused (SQLSTATE ${state})`}; nothing was committed`,
    { cause },
  );
}

function nameOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}

function recordOf(row: Row): StoredRecord {
  const fingerprint = row.fingerprint as Uint8Array | null;
  return {
    processedAtMs: Number(row.processed_at_ms),
    source: {
      topic: row.topic as string | null,
      partition: row.partition as number | null,
      offset: row.offset === null ? null : BigInt(row.offset as string),
    },
    fingerprint: fingerprint === null ? null : Buffer.from(fingerprint),
    note: row.note as string | null,
    result: row.result as string | null,
  };
}
