import { PGlite } from '@electric-sql/pglite';
import { pgliteStore } from '../../src/postgres/index.ts';
import type { EnvironmentDefinition } from './environment.ts';
import { CREATE_EFFECTS, writeEffect } from './postgres.ts';

export const pglite: EnvironmentDefinition = {
  name: 'PGlite',
  kind: 'transaction',
  concurrent: false,
  async start() {
    const db = await PGlite.create();
    await db.exec(CREATE_EFFECTS);
    await pgliteStore({ db }).ensureSchema();
    let isolated = 0;
    return {
      kind: 'transaction',
      concurrent: false,
      rounds: 200,
      store: () => pgliteStore({ db }),
      async isolatedStore() {
        const table = `isolated_${isolated++}`;
        const store = pgliteStore({ db, table });
        await store.ensureSchema();
        await db.exec(`UPDATE ${table}_state SET retention_ms = 0`);
        return store;
      },
      effect: writeEffect,
      async effects(name) {
        const { rows } = await db.query<{ count: number }>(
          'SELECT count(*)::int AS count FROM effects WHERE name = $1',
          [name],
        );
        return rows[0]!.count;
      },
      close: () => db.close(),
    };
  },
};
