import { DedupError, InProgressError, StoreSetupError, StoreUnavailableError } from '../errors.ts';
import type { ClaimRequest, DedupTransaction, StoredOffset, StoredRecord, TransactionSettings } from '../store.ts';
import { ArrayParameter } from './array-parameter.ts';
import type { ClaimAnswer, RefusedKey } from './claim-function.ts';
import { claimLiterals } from './claim-literals.ts';
import type { Begun, OpenTransaction, Row } from './database.ts';
import { isLockTimeout, isSetupProblem, sqlState, wantsRetry } from './sql-state.ts';
import type { ClaimStatements, OffsetStatements } from './statements.ts';

/** The tables have moved on to another epoch: nothing was claimed, and a fresh transaction must hold that epoch's lock. */
export class StaleEpoch extends Error {
  readonly epoch: number;

  constructor(epoch: number) {
    super(`the tables are in epoch ${epoch}`);
    this.epoch = epoch;
  }
}

/** Begins the transaction, with a statement that travels along, and gives the answer to that as the last of the preamble's. */
export type Begin<Client> = (first: string | null, answerMs: number) => Promise<Begun<Client>>;

/** One of the store's transactions, in the tables of its epoch, whose lock it holds. Begins with the claim. */
export class PostgresTransaction<Client> implements DedupTransaction<Client> {
  readonly attempt: number;
  readonly #begin: Begin<Client>;
  #begun: OpenTransaction<Client> | null = null;
  readonly #settings: TransactionSettings;
  readonly #epoch: number;
  readonly #statements: ClaimStatements;
  readonly #offsets: OffsetStatements;
  #startedAtMs = Number.NaN;

  constructor(
    begin: Begin<Client>,
    attempt: number,
    settings: TransactionSettings,
    epoch: number,
    statements: ClaimStatements,
    offsets: OffsetStatements,
  ) {
    this.attempt = attempt;
    this.#begin = begin;
    this.#settings = settings;
    this.#epoch = epoch;
    this.#statements = statements;
    this.#offsets = offsets;
  }

  /** `null` until it has begun. */
  get open(): OpenTransaction<Client> | null {
    return this.#begun;
  }

  get client(): Client {
    return this.#opened().client;
  }

  get startedAtMs(): number {
    return this.#startedAtMs;
  }

  async claim(requests: readonly ClaimRequest[]): Promise<readonly ('fresh' | StoredRecord)[]> {
    const row = await this.#claimRow(requests);
    const { epoch, taken, started_at_ms: startedAtMs, refused } = row.answer as ClaimAnswer;
    if (epoch !== this.#epoch) throw new StaleEpoch(epoch);
    this.#startedAtMs = startedAtMs;
    if (taken === requests.length) return requests.map(() => 'fresh');
    const records = new Map((refused ?? []).map((one) => [one.key, recordOf(one)]));
    if (taken + records.size !== requests.length) {
      throw new DedupError('a key was refused by a table that does not hold it; something else writes to the tables', {
        code: 'STORE_CHANGED',
      });
    }
    return requests.map(({ key }) => records.get(key.toString('hex')) ?? 'fresh');
  }

  /** Few keys travel with the BEGIN, which spares a round trip; many go as parameters, which spares work. */
  async #claimRow(requests: readonly ClaimRequest[]): Promise<Row> {
    const { namespace, waitMs: mostMs, storeTimeoutMs } = this.#settings;
    // 0 would mean no limit.
    const waitMs = Math.max(1, mostMs);
    const literals = claimLiterals(this.#epoch, waitMs, namespace, requests);
    const first = literals === null ? null : this.#statements.claimOf(literals);
    const answerMs = first === null ? storeTimeoutMs : storeTimeoutMs + waitMs;
    const { open, preamble } = await this.#begin(first, answerMs);
    this.#begun = open;
    if (first !== null) return preamble.at(-1)![0]!;
    const parameters = [
      this.#epoch,
      String(waitMs),
      namespace,
      ArrayParameter.bytea(requests.map(({ key }) => key)),
      ArrayParameter.bytea(requests.map(({ fingerprint }) => fingerprint)),
      ArrayParameter.text(requests.map(({ source }) => source.topic)),
      ArrayParameter.int4(requests.map(({ source }) => source.partition)),
      ArrayParameter.int8(requests.map(({ source }) => source.offset)),
      // Where there are none, not even an array of nothing: it costs as much as one of something.
      requests.some(({ note }) => note !== null) ? ArrayParameter.text(requests.map(({ note }) => note)) : null,
    ];
    return (await this.#send(this.#statements.claim, parameters, storeTimeoutMs + waitMs))[0]!;
  }

  #opened(): OpenTransaction<Client> {
    if (this.#begun !== null) return this.#begun;
    throw new DedupError('the transaction begins with the claim, which comes first', { code: 'INTERNAL' });
  }

  async forget(keys: readonly Buffer[]): Promise<void> {
    for (const statement of this.#statements.forget) await this.#query(statement, [ArrayParameter.bytea(keys)]);
  }

  async keepResults(results: readonly { readonly key: Buffer; readonly result: string }[]): Promise<void> {
    const parameters = [
      ArrayParameter.bytea(results.map(({ key }) => key)),
      ArrayParameter.text(results.map(({ result }) => result)),
    ];
    for (const statement of this.#statements.keepResults) await this.#query(statement, parameters);
  }

  async storeOffsets(offsets: readonly StoredOffset[]): Promise<void> {
    await this.#query(this.#offsets.store, [
      ArrayParameter.text(offsets.map(({ topic }) => topic)),
      ArrayParameter.int4(offsets.map(({ partition }) => partition)),
      ArrayParameter.int8(offsets.map(({ nextOffset }) => nextOffset)),
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

  #query(sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
    return this.#send(sql, [this.#settings.namespace, ...parameters], this.#settings.storeTimeoutMs);
  }

  async #command(sql: string): Promise<void> {
    await this.#send(sql, [], this.#settings.storeTimeoutMs);
  }

  async #send(sql: string, parameters: readonly unknown[], timeoutMs: number): Promise<readonly Row[]> {
    try {
      return await this.#opened().query(sql, parameters, timeoutMs);
    } catch (error) {
      throw explain(error);
    }
  }
}

const transactionAborted = '25P02';

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
  if (state === transactionAborted) {
    return new DedupError(
      'a statement in the handler failed, and its error was not passed on; the database has ended the transaction, and nothing was committed',
      { code: 'TRANSACTION_ENDED', cause },
    );
  }
  return new StoreUnavailableError(
    `the database ${state === null ? 'can’t be reached' : `refused (SQLSTATE ${state})`}; nothing was committed`,
    { cause },
  );
}

function recordOf({ topic, partition, offset, fingerprint, note, result, processed_at_ms }: RefusedKey): StoredRecord {
  return {
    processedAtMs: processed_at_ms,
    source: { topic, partition, offset: offset === null ? null : BigInt(offset) },
    fingerprint: fingerprint === null ? null : Buffer.from(fingerprint, 'hex'),
    note,
    result,
  };
}
