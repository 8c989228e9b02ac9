import { type ClientOf, PgDatabase, type PostgresClient, type PostgresPool } from './pg-database.ts';
import { PGliteDatabase, type PGliteDatabaseLike, type PGliteTransaction } from './pglite-database.ts';
import { DatabaseStore, type PostgresStore, type PostgresStoreOptions } from './store.ts';

export type { IsolationLevel } from './database.ts';
export type { ClientOf, PostgresClient, PostgresPool } from './pg-database.ts';
export type { PGliteDatabaseLike, PGliteTransaction } from './pglite-database.ts';
export type { PostgresStore, PostgresStoreOptions } from './store.ts';

/**
 * Keys in PostgreSQL 13 or later, with the effect in the same transaction. `pool` is `pg`'s, and stays the caller's to
 * end; PgBouncer in transaction mode may stand between. The handler's `client` is the pool's client, inside the
 * transaction: it must not end that itself.
 */
export function postgresStore<Pool extends PostgresPool>(
  options: PostgresStoreOptions & { readonly pool: Pool },
): PostgresStore<ClientOf<Pool>> {
  const { pool, ...rest } = options;
  // The type of `connect` says so; a generic pool can't be followed that far.
  const connectable = pool as PostgresPool as PostgresPool<PostgresClient & ClientOf<Pool>>;
  return new DatabaseStore(new PgDatabase<ClientOf<Pool>>(connectable), rest);
}

/**
 * The same in PGlite, PostgreSQL inside this process. The handler's `client` is PGlite's transaction. PGlite has one
 * connection: transactions run one after the other, and a handler that uses `db` instead of `client` waits for itself.
 */
export function pgliteStore<Transaction extends PGliteTransaction>(
  options: PostgresStoreOptions & { readonly db: PGliteDatabaseLike<Transaction> },
): PostgresStore<Transaction> {
  const { db, ...rest } = options;
  return new DatabaseStore(new PGliteDatabase(db), rest);
}
