import type { TransactionStore } from '@sendonce/consumer-dedup';

/** Runs statements: a pool, or the client of one transaction. */
export interface Sql {
  query<Row extends object>(sql: string, parameters?: unknown[]): Promise<{ readonly rows: Row[] }>;
}

/** The service's database. Postgres, or PGlite inside the process. */
export interface Database extends Sql {
  /** Runs `work` in a transaction; rolls back when it throws. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Business keys, beside the effects that they guard: `sql` in a handler is the transaction that holds the key. */
  readonly keys: TransactionStore<Sql> & { ensureSchema(): Promise<void> };
  /** Several statements without parameters. */
  exec(sql: string): Promise<void>;
  close(): Promise<void>;
}

/** The foreign key of a statement names something that is not there. */
export function isForeignKeyViolation(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '23503';
}

/**
 * An amount as the database gave it, in text.
 * @throws {RangeError} for one that a number can't hold exactly.
 */
export function minorUnits(text: string): number {
  const amount = Number(text);
  if (Number.isSafeInteger(amount)) return amount;
  throw new RangeError(`The amount ${text} is too large to be exact.`);
}
