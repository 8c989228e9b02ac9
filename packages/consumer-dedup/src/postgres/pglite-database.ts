import { InProgressError } from '../errors.ts';
import { ArrayParameter } from './array-parameter.ts';
import type { BeginOptions, Begun, Database, OpenTransaction, Row } from './database.ts';

interface Results {
  readonly rows: unknown[];
}

/** The part of PGlite's transaction that is used; the handler gets the transaction itself. */
export interface PGliteTransaction {
  query(sql: string, parameters?: unknown[]): Promise<Results>;
  exec(sql: string): Promise<readonly Results[]>;
  rollback(): Promise<void>;
}

/** The part of `PGlite` that is used. */
export interface PGliteDatabaseLike<Transaction extends PGliteTransaction> {
  transaction(work: (transaction: Transaction) => Promise<unknown>): Promise<unknown>;
}

/** PGlite: one connection, so transactions run one after the other. */
export class PGliteDatabase<Transaction extends PGliteTransaction> implements Database<Transaction> {
  readonly name = 'pglite';
  readonly #db: PGliteDatabaseLike<Transaction>;

  constructor(db: PGliteDatabaseLike<Transaction>) {
    this.#db = db;
  }

  async begin({ isolationLevel, preamble, waitMs }: BeginOptions): Promise<Begun<Transaction>> {
    const open = await this.#turn(waitMs);
    try {
      const results = await open.client.exec(`SET TRANSACTION ISOLATION LEVEL ${isolationLevel}; ${preamble}`);
      return { open, preamble: results.slice(1).map(({ rows }) => rows as Row[]) };
    } catch (error) {
      await open.rollback();
      throw error;
    }
  }

  #turn(waitMs: number): Promise<PGliteOpenTransaction<Transaction>> {
    return new Promise((resolve, reject) => {
      let waiting = true;
      const timer = setTimeout(() => {
        waiting = false;
        reject(new InProgressError('another transaction of this process is open, and PGlite runs one at a time'));
      }, waitMs);
      const ended: Promise<unknown> = this.#db.transaction(async (transaction) => {
        clearTimeout(timer);
        if (!waiting) return;
        const open = new PGliteOpenTransaction(transaction, () => ended);
        resolve(open);
        await open.end;
      });
      ended.catch((error: unknown) => {
        clearTimeout(timer);
        reject(error);
      });
    });
  }
}

class PGliteOpenTransaction<Transaction extends PGliteTransaction> implements OpenTransaction<Transaction> {
  readonly client: Transaction;
  /** PGlite commits when this resolves, unless the transaction was rolled back before. */
  readonly end: Promise<void>;
  readonly #finish: () => void;
  readonly #ended: () => Promise<unknown>;
  #over = false;

  constructor(client: Transaction, ended: () => Promise<unknown>) {
    this.client = client;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.end = promise;
    this.#finish = resolve;
    this.#ended = ended;
  }

  async query(sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
    const { rows } = await this.client.query(sql, parameters.map(plain));
    return rows as Row[];
  }

  async commit(): Promise<'committed' | 'ended'> {
    // PGlite does not tell a COMMIT that was answered by a ROLLBACK. A transaction that the database has ended refuses
    // every statement.
    const alive = await this.client.exec('SELECT 1').then(
      () => true,
      () => false,
    );
    if (!alive) {
      await this.rollback();
      return 'ended';
    }
    this.#over = true;
    this.#finish();
    await this.#ended();
    return 'committed';
  }

  async rollback(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    await this.client.rollback().catch(() => undefined);
    this.#finish();
    await this.#ended().catch(() => undefined);
  }
}

function plain(parameter: unknown): unknown {
  return parameter instanceof ArrayParameter ? parameter.values : parameter;
}
