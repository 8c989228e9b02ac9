import { type PostgresVersion, startPostgres } from '@sendonce/test-services/databases';
import pg from 'pg';
import { postgresStore } from '../../src/postgres/index.ts';
import type { AnyContext } from '../../src/testing/index.ts';
import type { EnvironmentDefinition, RunningEnvironment } from './environment.ts';

export const CREATE_EFFECTS = 'CREATE TABLE IF NOT EXISTS effects (name text NOT NULL); CREATE INDEX ON effects (name)';

export const postgres: EnvironmentDefinition = {
  name: 'Postgres',
  kind: 'transaction',
  concurrent: true,
  async start() {
    const service = await startPostgres();
    return postgresEnvironment(service.url, service.url, () => service.close());
  },
};

/** Another major version than the system's. */
export function postgresOf(version: PostgresVersion): EnvironmentDefinition {
  return {
    name: `Postgres ${version}`,
    kind: 'transaction',
    concurrent: true,
    async start() {
      const service = await startPostgres({ version });
      return postgresEnvironment(service.url, service.url, () => service.close());
    },
  };
}

export const pgBouncer: EnvironmentDefinition = {
  name: 'Postgres behind PgBouncer in transaction mode',
  kind: 'transaction',
  concurrent: true,
  async start() {
    const service = await startPostgres();
    return postgresEnvironment(await service.startPgBouncer(), service.url, () => service.close());
  },
};

async function postgresEnvironment(
  url: string,
  directUrl: string,
  stopService: () => Promise<void>,
): Promise<RunningEnvironment> {
  const direct = new pg.Pool({ connectionString: directUrl, max: 2 });
  const pool = new pg.Pool({ connectionString: url, max: 40 });
  await direct.query(CREATE_EFFECTS);
  await postgresStore({ pool }).ensureSchema();
  let isolated = 0;
  return {
    kind: 'transaction',
    concurrent: true,
    rounds: 1000,
    store: () => postgresStore({ pool }),
    async isolatedStore() {
      const table = `isolated_${isolated++}`;
      const store = postgresStore({ pool, table });
      await store.ensureSchema();
      // The default is longer than the cases ask for, and a deduplicator only ever raises it.
      await direct.query(`UPDATE ${table}_state SET retention_ms = 0`);
      return store;
    },
    effect: writeEffect,
    async effects(name) {
      const { rows } = await direct.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM effects WHERE name = $1',
        [name],
      );
      return rows[0]!.count;
    },
    async close() {
      await Promise.all([pool.end(), direct.end()]);
      await stopService();
    },
  };
}

/** With the transaction's client, so that the row commits with the claim. */
export async function writeEffect(context: AnyContext, name: string): Promise<void> {
  if (!('client' in context)) throw new Error('a transaction store was expected');
  const client = context.client as Pick<pg.PoolClient, 'query'>;
  await client.query('INSERT INTO effects (name) VALUES ($1)', [name]);
}
