import { postgresStore } from '@sendonce/consumer-dedup/postgres';
import pg from 'pg';
import type { Database } from './database.ts';

/** Long enough for a busy server, short enough that a client waiting for its answer gets one. */
const connectTimeoutMs = 3_000;
const statementTimeoutMs = 5_000;
const connectionsMax = 20;

export function openPostgres(url: string, onIdleError: (error: Error) => void): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs,
    keepAlive: true,
    application_name: 'payments-demo',
  });
  // A connection that breaks while nobody uses it. The pool makes a new one when it is needed; without a listener the process would end.
  pool.on('error', onIdleError);
  return {
    keys: postgresStore({ pool }),
    query: (sql, parameters) => pool.query(sql, parameters),
    async transaction(work) {
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        await client.query('BEGIN');
        const result = await work(client);
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK').catch((failed: Error) => {
          broken = failed;
        });
        throw error;
      } finally {
        client.release(broken);
      }
    },
    exec: async (sql) => void (await pool.query(sql)),
    close: () => pool.end(),
  };
}
