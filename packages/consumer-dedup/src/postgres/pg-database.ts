import { DedupError, StoreUnavailableError } from '../errors.ts';
import { withTimeout } from '../timeout.ts';
import { ArrayParameter } from './array-parameter.ts';
import type { BeginOptions, Begun, Database, OpenTransaction, Row } from './database.ts';

interface QueryResult {
  readonly command: string;
  readonly rows: Row[];
}

/** The part of `pg`'s pool client that is used; the handler gets the client itself. */
export interface PostgresClient {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
  release(destroy?: boolean | Error): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
}

/** The part of `pg`'s `Pool` that is used. */
export interface PostgresPool<Client extends PostgresClient = PostgresClient> {
  connect(): Promise<Client>;
}

/** The client that a pool gives out. `pg` also declares a `connect` with a callback, of which this takes no notice. */
export type ClientOf<Pool extends PostgresPool> = Pool['connect'] extends {
  (): Promise<infer Client extends PostgresClient>;
  (callback: never): unknown;
}
  ? Client
  : never;

/** `pg`: one pooled connection for each transaction. */
export class PgDatabase<Client extends PostgresClient> implements Database<Client> {
  readonly name = 'postgres';
  readonly #pool: PostgresPool<Client>;

  constructor(pool: PostgresPool<Client>) {
    this.#pool = pool;
  }

  async begin({ isolationLevel, preamble, timeoutMs, answerMs }: BeginOptions): Promise<Begun<Client>> {
    const open = new PgTransaction(await this.#connect(timeoutMs));
    try {
      const results = await open.script(`BEGIN ISOLATION LEVEL ${isolationLevel}; ${preamble}`, answerMs ?? timeoutMs);
      return { open, preamble: results.slice(1).map(({ rows }) => rows) };
    } catch (error) {
      await open.rollback();
      throw error;
    }
  }

  async #connect(timeoutMs: number): Promise<Client> {
    const connecting = this.#pool.connect();
    try {
      return await withTimeout(connecting, timeoutMs, 'a connection from the pool');
    } catch (error) {
      // A connection that comes too late goes back; otherwise the pool would be smaller for ever.
      connecting.then(
        (client) => client.release(),
        () => undefined,
      );
      throw error;
    }
  }
}

class PgTransaction<Client extends PostgresClient> implements OpenTransaction<Client> {
  /** What the handler gets. */
  readonly client: Client;
  readonly #own: Client;
  #broken = false;
  #released = false;

  constructor(client: Client) {
    this.#own = client;
    this.client = whileOpen(client, () => this.#released);
    // A pool listens to idle clients only: without this, a connection that breaks while it is ours would end the process.
    client.on('error', this.#onError);
  }

  async query(sql: string, parameters: readonly unknown[], timeoutMs: number): Promise<readonly Row[]> {
    const result = await this.#send(sql, parameters, timeoutMs);
    return (result as QueryResult).rows;
  }

  /** Several statements in one request. */
  async script(sql: string, timeoutMs: number): Promise<readonly QueryResult[]> {
    const results = await this.#send(sql, undefined, timeoutMs);
    return (Array.isArray(results) ? results : [results]) as readonly QueryResult[];
  }

  async commit(timeoutMs: number): Promise<'committed' | 'ended'> {
    let command: string;
    try {
      ({ command } = (await this.#send('COMMIT', undefined, timeoutMs)) as QueryResult);
    } catch (error) {
      // Whatever it was, the transaction is over, or the connection is.
      this.#release(true);
      throw error;
    }
    this.#release(false);
    return command === 'COMMIT' ? 'committed' : 'ended';
  }

  async rollback(): Promise<void> {
    if (this.#released) return;
    let failed = this.#broken;
    if (!failed) {
      await this.#send('ROLLBACK', undefined, ROLLBACK_TIMEOUT_MS).catch(() => {
        failed = true;
      });
    }
    this.#release(failed);
  }

  async #send(sql: string, parameters: readonly unknown[] | undefined, timeoutMs: number): Promise<unknown> {
    try {
      const request =
        parameters === undefined ? this.#own.query(sql) : this.#own.query(sql, this.#sendable(parameters));
      return await withTimeout(request, timeoutMs, 'a statement');
    } catch (error) {
      // What is still running on the connection must not be followed by anything else.
      if (error instanceof StoreUnavailableError) this.#broken = true;
      throw error;
    }
  }

  #sendable(parameters: readonly unknown[]): unknown[] {
    // `pg-native` sends text only.
    const isNative = 'native' in this.#own;
    return parameters.map((parameter) => {
      if (!(parameter instanceof ArrayParameter)) return parameter;
      return (isNative ? null : parameter.binary()) ?? parameter.values;
    });
  }

  readonly #onError = (): void => {
    this.#broken = true;
  };

  #release(destroy: boolean): void {
    this.#released = true;
    this.#own.removeListener('error', this.#onError);
    this.#own.release(destroy || this.#broken);
  }
}

/**
 * The client, until its transaction is over. A pool gives the same client to the next message, in whose transaction a query that comes
 * late (a forgotten `await`) would otherwise take part.
 */
function whileOpen<Client extends PostgresClient>(client: Client, isOver: () => boolean): Client {
  const query = (...args: [string, unknown[]?]): unknown => {
    if (isOver()) {
      throw new DedupError(
        'the transaction of this client is over: await every query in the handler, and keep no client beyond it',
        { code: 'TRANSACTION_CLOSED' },
      );
    }
    return client.query(...args);
  };
  return new Proxy(client, {
    get(target, name) {
      if (name === 'query') return query;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A connection that can't even roll back in this time is closed instead. */
const ROLLBACK_TIMEOUT_MS = 5_000;
