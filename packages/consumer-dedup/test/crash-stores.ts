import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { Cluster, Redis } from 'ioredis';
import pg from 'pg';
import { type DedupStore, memoryStore } from '../src/index.ts';
import { pgliteStore, postgresStore } from '../src/postgres/index.ts';
import { redisStore } from '../src/redis/index.ts';
import type { AnyContext } from '../src/testing/index.ts';
import { CREATE_EFFECTS, writeEffect } from './environments/postgres.ts';

export type CrashStoreName = 'memory' | 'pglite' | 'postgres' | 'redis' | 'redis-cluster';

/** A store as a process of its own opens it, with effects that outlive the process. */
export interface CrashStore {
  readonly store: DedupStore;
  effect(context: AnyContext, name: string): Promise<void>;
  effects(name: string): Promise<number>;
  close(): Promise<void>;
}

/** `address`: a URL, a list of nodes as JSON, or a folder. */
export async function openCrashStore(name: CrashStoreName, address: string): Promise<CrashStore> {
  switch (name) {
    case 'memory':
      return memory(address);
    case 'pglite':
      return pglite(address);
    case 'postgres':
      return postgres(address);
    case 'redis':
      return redis(new Redis(address));
    case 'redis-cluster':
      return redis(new Cluster(JSON.parse(address)));
  }
}

function memory(folder: string): CrashStore {
  const fileOf = (name: string) => join(folder, `${name}.effects`);
  return {
    store: memoryStore(),
    effect: async (_, name) => appendFileSync(fileOf(name), 'x'),
    effects: async (name) => (existsSync(fileOf(name)) ? readFileSync(fileOf(name)).length : 0),
    close: async () => {},
  };
}

async function pglite(folder: string): Promise<CrashStore> {
  const db = await PGlite.create(folder);
  await db.exec(CREATE_EFFECTS);
  const store = pgliteStore({ db });
  await store.ensureSchema();
  return {
    store,
    effect: writeEffect,
    async effects(name) {
      const { rows } = await db.query<{ count: number }>(COUNT_EFFECTS, [name]);
      return rows[0]!.count;
    },
    close: () => db.close(),
  };
}

async function postgres(connectionString: string): Promise<CrashStore> {
  const pool = new pg.Pool({ connectionString, max: 2 });
  const store = postgresStore({ pool });
  await store.ensureSchema();
  return {
    store,
    effect: writeEffect,
    async effects(name) {
      const { rows } = await pool.query<{ count: number }>(COUNT_EFFECTS, [name]);
      return rows[0]!.count;
    },
    close: () => pool.end(),
  };
}

const COUNT_EFFECTS = 'SELECT count(*)::int AS count FROM effects WHERE name = $1';

function redis(client: Redis | Cluster): CrashStore {
  return {
    store: redisStore({ client }),
    effect: async (_, name) => {
      await client.incr(`effects:${name}`);
    },
    effects: async (name) => Number((await client.get(`effects:${name}`)) ?? 0),
    close: async () => client.disconnect(),
  };
}
