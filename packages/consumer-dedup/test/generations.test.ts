import { type PostgresService, startPostgres } from '@sendonce/test-services/databases';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDeduplicator } from '../src/index.ts';
import { type PostgresStore, postgresStore } from '../src/postgres/index.ts';
import { type Latch, latch } from '../src/testing/latch.ts';
import { messageOf } from '../src/testing/messages.ts';

let service: PostgresService;
let pool: pg.Pool;
let table: string;
let store: PostgresStore<pg.PoolClient>;
let tables = 0;

beforeAll(async () => {
  service = await startPostgres();
  pool = new pg.Pool({ connectionString: service.url, max: 40 });
  await pool.query('CREATE TABLE effects (name text NOT NULL)');
});

afterAll(async () => {
  await pool.end();
  await service.close();
});

beforeEach(async () => {
  table = `generations_${tables++}`;
  store = postgresStore({ pool, table });
  await store.ensureSchema();
});

/** A consumer process: with its own idea of the epoch. Only the test moves generations on. */
function consumer(options: { keepResult?: boolean } = {}) {
  const own = Object.assign(postgresStore({ pool, table }), { maintain: async () => 'none' as const });
  return createDeduplicator({ store: own, namespace: 'n', ...options });
}

/** Makes the next generation due. */
async function letTimePass(): Promise<void> {
  await pool.query(`UPDATE ${table}_state SET rotated_at = rotated_at - retention_ms * interval '1 ms'`);
}

async function effects(): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM effects WHERE name = $1', [
    table,
  ]);
  return rows[0]!.count;
}

interface Held {
  readonly inHandler: Latch;
  readonly finish: Latch;
  readonly done: ReturnType<ReturnType<typeof consumer>['process']>;
}

/** A handler that stays open until told, with its transaction. */
function hold(key: string): Held {
  const inHandler = latch();
  const finish = latch();
  const done = consumer().process(messageOf(key), async (_, { client }) => {
    inHandler.open();
    await finish.opened;
    await client.query('INSERT INTO effects VALUES ($1)', [table]);
  });
  return { inHandler, finish, done };
}

describe('D8: keys stay unique across the boundary of generations', () => {
  it('two consumers on either side of the beginning of an overlap: the second one waits for the first', async () => {
    const before = hold('a');
    await before.inHandler.opened;
    await letTimePass();
    expect(await store.maintain()).toBe('overlap-begun');
    const after = consumer().process(messageOf('a'), (_, { client }) =>
      client.query('INSERT INTO effects VALUES ($1)', [table]),
    );
    before.finish.open();
    expect([(await before.done).status, (await after).status]).toEqual(['processed', 'duplicate']);
    expect(await effects()).toBe(1);
  });

  it('two consumers on either side of the end of an overlap: the second one waits for the first', async () => {
    await letTimePass();
    expect(await store.maintain()).toBe('overlap-begun');
    const before = hold('a');
    await before.inHandler.opened;
    expect(await store.maintain()).toBe('advanced');
    const after = consumer().process(messageOf('a'), (_, { client }) =>
      client.query('INSERT INTO effects VALUES ($1)', [table]),
    );
    before.finish.open();
    expect([(await before.done).status, (await after).status]).toEqual(['processed', 'duplicate']);
    expect(await effects()).toBe(1);
  });

  it('an overlap does not end while a transaction from before it is open, and new messages go on meanwhile', async () => {
    const before = hold('a');
    await before.inHandler.opened;
    await letTimePass();
    expect(await store.maintain()).toBe('overlap-begun');
    expect(await store.maintain()).toBe('busy');
    expect((await consumer().process(messageOf('b'), () => undefined)).status).toBe('processed');
    before.finish.open();
    await before.done;
    expect(await store.maintain()).toBe('advanced');
    for (const key of ['a', 'b'])
      expect((await consumer().process(messageOf(key), () => undefined)).status).toBe('duplicate');
  });

  it('a key taken in the new generation is refused to one that only looks into both', async () => {
    await letTimePass();
    await store.maintain();
    const inOverlap = consumer();
    await inOverlap.ready();
    const client = await pool.connect();
    // As a consumer of the next epoch would, while one of the overlap is still under way.
    await client.query('BEGIN');
    await client.query(`INSERT INTO ${table}_keys_1 (namespace, key) VALUES ('n', 'a')`);
    const claiming = inOverlap.process(messageOf('a'), () => undefined);
    await client.query('COMMIT');
    client.release();
    expect((await claiming).status).toBe('duplicate');
    const { rows } = await pool.query(`SELECT count(*)::int AS count FROM ${table}_keys_0`);
    expect(rows).toEqual([{ count: 0 }]);
  });

  it('a key is known through one more generation and forgotten after the second, whose table is emptied', async () => {
    const dedup = consumer();
    await dedup.process(messageOf('a', { offset: 7n }), () => 'kept');
    const statuses: string[] = [];
    const steps: string[] = [];
    for (let generation = 1; generation <= 2; generation++) {
      await letTimePass();
      for (let step = await store.maintain(); step !== 'none'; step = await store.maintain()) {
        steps.push(step);
        if (step === 'advanced') statuses.push((await dedup.process(messageOf('a'), () => undefined)).status);
      }
    }
    expect(statuses).toEqual(['duplicate', 'processed']);
    const rotation = ['overlap-begun', 'advanced', 'cleared'];
    expect(steps).toEqual([...rotation, ...rotation]);
  });

  it('claims go by the index alone, new keys and known ones, with plans that were made while the tables were empty', async () => {
    const dedup = consumer();
    const batch = (from: number) => Array.from({ length: 100 }, (_, index) => messageOf(`k${from + index}`));
    for (let generation = 0; generation < 2; generation++) {
      for (let from = 0; from < 1000; from += 50) await dedup.processBatch(batch(from), () => undefined);
      await letTimePass();
      await store.maintain();
      await dedup.processBatch(batch(950), () => undefined);
      await store.maintain();
    }
    // What each connection has counted is in the view when the connection has ended.
    await pool.end();
    pool = new pg.Pool({ connectionString: service.url, max: 40 });
    const { rows } = await pool.query(
      `SELECT sum(seq_tup_read)::int AS read_without_index, sum(idx_scan)::int > 0 AS by_index FROM pg_stat_user_tables WHERE relname LIKE $1`,
      [`${table}_keys_%`],
    );
    expect(rows).toEqual([{ read_without_index: 0, by_index: true }]);
  });

  it('results and conflicts are known from an overlap and from older generations alike', async () => {
    const dedup = consumer({ keepResult: true });
    await letTimePass();
    await store.maintain();
    await dedup.process(messageOf('a'), () => ({ id: 7 }));
    expect(await dedup.process(messageOf('a'), () => undefined)).toMatchObject({ first: { result: { id: 7 } } });
    await store.maintain();
    expect(await dedup.process(messageOf('a'), () => undefined)).toMatchObject({ first: { result: { id: 7 } } });
    expect((await dedup.process(messageOf('a', { value: 'other' }), () => undefined)).status).toBe('conflict');
  });

  it('with isolate: message, a failed key of an overlap is claimable again', async () => {
    await letTimePass();
    await store.maintain();
    const dedup = consumer();
    const outcomes = await dedup.processBatch(
      [messageOf('a'), messageOf('poison')],
      (fresh) => {
        if (fresh.some(({ headers }) => headers['idempotency-key'] === 'poison')) throw new Error('poison');
      },
      { isolate: 'message' },
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['processed', 'failed']);
    expect((await dedup.process(messageOf('poison'), () => undefined)).status).toBe('processed');
  });

  it('consumers that race for the same keys while generations change all the time apply each key once', async () => {
    const consumers = Array.from({ length: 4 }, consumer);
    await Promise.all(consumers.map((dedup) => dedup.ready()));
    const steps = new Map<string, number>();
    // One round of keys never sees more than one new generation, so that no key of it may be forgotten.
    const changeGeneration = async () => {
      for (let taken = 0; taken < 3; ) {
        await letTimePass();
        const step = await store.maintain();
        steps.set(step, (steps.get(step) ?? 0) + 1);
        if (step !== 'busy') taken++;
      }
    };
    const keys = 600;
    for (let from = 0; from < keys; from += 10) {
      const messages = Array.from({ length: 10 }, (_, index) => messageOf(`k${from + index}`));
      const change = changeGeneration();
      await Promise.all(
        consumers.map((dedup, index) =>
          index % 2 === 0
            ? dedup.processBatch(messages, async (fresh, { client }) => {
                for (const _ of fresh) await client.query('INSERT INTO effects VALUES ($1)', [table]);
              })
            : Promise.all(
                messages.map((message) =>
                  dedup.process(message, (_, { client }) => client.query('INSERT INTO effects VALUES ($1)', [table])),
                ),
              ),
        ),
      );
      await change;
    }
    expect(steps.get('advanced')).toBe(keys / 10);
    expect(await effects()).toBe(keys);
  });
});
