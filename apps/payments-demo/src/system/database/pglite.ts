import { PGlite } from '@electric-sql/pglite';
import { pgliteStore } from '@sendonce/consumer-dedup/postgres';
import type { Database } from './database.ts';

/** Postgres inside this process, in memory: nothing to install, and gone with the process. */
export async function openPGlite(): Promise<Database> {
  const db = await PGlite.create();
  return {
    keys: pgliteStore({ db }),
    query: (sql, parameters) => db.query(sql, parameters),
    transaction: (work) => db.transaction(work),
    exec: async (sql) => void (await db.exec(sql)),
    close: () => db.close(),
  };
}
