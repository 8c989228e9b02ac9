import { type PostgresService, startPostgres } from '@sendonce/test-services/databases';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createDeduplicator, DedupConfigError, type Outcome, StoreUnavailableError } from '../src/index.ts';
import { postgresStore } from '../src/postgres/index.ts';
import { latch } from '../src/testing/latch.ts';
import { messageOf, uniqueName } from '../src/testing/messages.ts';

let service: PostgresService;
let pool: pg.Pool;

beforeAll(async () => {
  service = await startPostgres({ own: true });
  pool = new pg.Pool({ connectionString: service.url, max: 10 });
  // Without a listener, an idle connection that breaks ends the process: that is the pool's owner's to handle.
  pool.on('error', () => {});
  await pool.query('CREATE TABLE effects (name text NOT NULL)');
  await pool.query('CREATE TABLE accounts (id text PRIMARY KEY, balance int NOT NULL)');
  await postgresStore({ pool }).ensureSchema();
});

afterAll(async () => {
  await pool.end();
  await service.close();
});

async function effects(name: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM effects WHERE name = $1', [
    name,
  ]);
  return rows[0]!.count;
}

function reasonOf(outcome: Outcome): string {
  return outcome.status === 'failed' ? `failed: ${outcome.reason}` : outcome.status;
}

describe('a handler that is careless with its client', () => {
  it('D3: a query that comes after its transaction takes no part in the next one', async () => {
    const name = uniqueName('late');
    const single = new pg.Pool({ connectionString: service.url, max: 1 });
    try {
      const dedup = createDeduplicator({ store: postgresStore({ pool: single }), namespace: name });
      const kept: { query(sql: string, parameters: unknown[]): unknown }[] = [];
      await dedup.process(messageOf('a'), (_, { client }) => void kept.push(client));
      const outcome = await dedup.process(messageOf('b'), async () => {
        const late = async () => kept[0]!.query('INSERT INTO effects VALUES ($1)', [name]);
        await expect(late()).rejects.toMatchObject({ code: 'TRANSACTION_CLOSED' });
      });
      expect(outcome.status).toBe('processed');
      expect(await effects(name)).toBe(0);
    } finally {
      await single.end();
    }
  });

  it('D3: a statement whose error it swallows is the handler’s failure, with commitOffsets too', async () => {
    for (const commitOffsets of [false, true]) {
      const dedup = createDeduplicator({
        store: postgresStore({ pool }),
        namespace: uniqueName('swallowed'),
        commitOffsets,
      });
      const outcome = await dedup.process(messageOf('a', { offset: 1n }), async (_, { client }) => {
        await client.query('SELECT 1 / 0').catch(() => undefined);
      });
      expect(outcome).toMatchObject({ status: 'failed', reason: 'handler', error: { code: 'TRANSACTION_ENDED' } });
    }
  });
});

describe('when the database goes away', () => {
  it('D6: a message is not processed while it is down, and the outcome says why', async () => {
    const name = uniqueName('down');
    const dedup = createDeduplicator({ store: postgresStore({ pool }), namespace: name });
    await service.stop();
    try {
      let ran = false;
      const outcome = await dedup.process(messageOf('a'), () => {
        ran = true;
      });
      expect(outcome).toMatchObject({
        status: 'failed',
        reason: 'store',
        error: { code: 'STORE_UNAVAILABLE', commit: 'not-done' },
      });
      expect(ran).toBe(false);
    } finally {
      await service.start();
    }
    expect(reasonOf(await dedup.process(messageOf('a'), () => undefined))).toBe('processed');
  });

  it('D3: a crash in the middle of a handler undoes claim and effect, and the retry applies it once', async () => {
    const name = uniqueName('crash');
    const dedup = createDeduplicator({ store: postgresStore({ pool }), namespace: name });
    const outcome = await dedup.process(messageOf('a'), async (_, { client }) => {
      await client.query('INSERT INTO effects VALUES ($1)', [name]);
      await service.stop('immediate');
      await client.query('SELECT 1');
    });
    expect(outcome.status).toBe('failed');
    await service.start();
    expect(await effects(name)).toBe(0);
    const retry = await dedup.process(messageOf('a'), (_, { client }) =>
      client.query('INSERT INTO effects VALUES ($1)', [name]),
    );
    expect(reasonOf(retry)).toBe('processed');
    expect(await effects(name)).toBe(1);
  });

  it('D6: a connection lost at COMMIT leaves the fate unknown, says so, and the retry settles it', async () => {
    const name = uniqueName('commit');
    const dedup = createDeduplicator({ store: postgresStore({ pool }), namespace: name });
    const apply = async (_: unknown, { client }: { client: pg.PoolClient }) => {
      await client.query('INSERT INTO effects VALUES ($1)', [name]);
    };
    const outcome = await dedup.process(messageOf('a'), async (message, context) => {
      await apply(message, context);
      await service.stop('immediate');
    });
    await service.start();
    const { error } = outcome as Extract<Outcome, { status: 'failed' }>;
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect((error as StoreUnavailableError).commit).toBe('unknown');
    await dedup.process(messageOf('a'), apply);
    expect(await effects(name)).toBe(1);
  });

  it('D6, D7: handlers that use up the pool for connections of their own fail by its connectionTimeoutMillis, and leave no trace', async () => {
    const small = new pg.Pool({ connectionString: service.url, max: 1, connectionTimeoutMillis: 100 });
    const dedup = createDeduplicator({ store: postgresStore({ pool: small }), namespace: uniqueName('nested') });
    const keys = Array.from({ length: 10 }, (_, index) => messageOf(`k${index}`));
    await dedup.ready();
    const outcomes = await Promise.all(
      keys.map((message) =>
        dedup.process(message, async () => {
          const other = await small.connect();
          other.release();
        }),
      ),
    );
    expect(outcomes.filter(({ status }) => status !== 'failed')).toEqual([]);
    for (const message of keys) {
      expect((await dedup.process(message, () => undefined)).status).toBe('processed');
    }
    expect([small.totalCount - small.idleCount, small.waitingCount]).toEqual([0, 0]);
    await small.end();
  });

  it('D6: an exhausted pool fails the message within storeTimeoutMs, and leaks no connection', async () => {
    const small = new pg.Pool({ connectionString: service.url, max: 1 });
    const held = await small.connect();
    const store = postgresStore({ pool: small });
    const namespace = uniqueName('pool');
    const hasty = createDeduplicator({ store, namespace, storeTimeoutMs: 100 });
    const outcome = await hasty.process(messageOf('a'), () => undefined);
    expect(outcome).toMatchObject({ status: 'failed', reason: 'store', error: { code: 'STORE_UNAVAILABLE' } });
    held.release();
    const dedup = createDeduplicator({ store, namespace });
    expect(reasonOf(await dedup.process(messageOf('a'), () => undefined))).toBe('processed');
    await small.end();
  });
});

describe('transactions', () => {
  it('D7: a handler that swallows a failed statement is not taken for processed', async () => {
    const dedup = createDeduplicator({ store: postgresStore({ pool }), namespace: uniqueName('swallowed') });
    const outcome = await dedup.process(messageOf('a'), async (_, { client }) => {
      await client.query('SELECT 1/0').catch(() => undefined);
    });
    expect(outcome).toMatchObject({ status: 'failed', reason: 'handler', error: { code: 'TRANSACTION_ENDED' } });
    expect(reasonOf(await dedup.process(messageOf('a'), () => undefined))).toBe('processed');
  });

  it('D7: a constraint checked at COMMIT fails the message as its handler’s fault', async () => {
    await pool.query('CREATE TABLE deferred (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    const dedup = createDeduplicator({ store: postgresStore({ pool }), namespace: uniqueName('deferred') });
    const outcome = await dedup.process(messageOf('a'), (_, { client }) =>
      client.query('INSERT INTO deferred VALUES (1), (1)'),
    );
    expect(outcome).toMatchObject({
      status: 'failed',
      reason: 'handler',
      error: { code: 'TRANSACTION_ENDED', cause: { code: '23505' } },
    });
  });

  it('D3: serialization failures run the handler again in a fresh transaction, and every effect is there once', async () => {
    const name = uniqueName('serializable');
    await pool.query('INSERT INTO accounts VALUES ($1, 0)', [name]);
    let retries = 0;
    const dedup = createDeduplicator({
      store: postgresStore({ pool, isolationLevel: 'serializable', maxAttempts: 50 }),
      namespace: name,
      hooks: { onTransactionRetry: () => retries++ },
    });
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        dedup.process(messageOf(`k${index % 20}`), async (_, { client }) => {
          const { rows } = await client.query<{ balance: number }>('SELECT balance FROM accounts WHERE id = $1', [
            name,
          ]);
          await client.query('UPDATE accounts SET balance = $2 WHERE id = $1', [name, rows[0]!.balance + 1]);
        }),
      ),
    );
    expect(outcomes.map(reasonOf).toSorted()).toEqual([...Array(20).fill('duplicate'), ...Array(20).fill('processed')]);
    const { rows } = await pool.query<{ balance: number }>('SELECT balance FROM accounts WHERE id = $1', [name]);
    expect(rows[0]!.balance).toBe(20);
    expect(retries).toBeGreaterThan(0);
  });

  it('D5: a deadlock between two handlers runs one of them again', async () => {
    const name = uniqueName('deadlock');
    await pool.query('INSERT INTO accounts VALUES ($1, 0), ($2, 0)', [`${name}-a`, `${name}-b`]);
    const attempts: number[] = [];
    const dedup = createDeduplicator({
      store: postgresStore({ pool }),
      namespace: name,
    });
    const bothHoldOne = latch();
    let holding = 0;
    const take = (key: string, first: string, second: string) =>
      dedup.process(messageOf(key), async (_, { client, attempt }) => {
        attempts.push(attempt);
        const add = (id: string) => client.query('UPDATE accounts SET balance = balance + 1 WHERE id = $1', [id]);
        await add(`${name}-${first}`);
        if (++holding === 2) bothHoldOne.open();
        await bothHoldOne.opened;
        await add(`${name}-${second}`);
      });
    const outcomes = await Promise.all([take('x', 'a', 'b'), take('y', 'b', 'a')]);
    expect(outcomes.map(reasonOf)).toEqual(['processed', 'processed']);
    expect(attempts.filter((attempt) => attempt > 1)).not.toEqual([]);
    const { rows } = await pool.query('SELECT balance FROM accounts WHERE id LIKE $1', [`${name}%`]);
    expect(rows).toEqual([{ balance: 2 }, { balance: 2 }]);
  });

  it('the handler’s lock_timeout is the caller’s own, not the one of the claim', async () => {
    const dedup = createDeduplicator({
      store: postgresStore({ pool }),
      namespace: uniqueName('lock-timeout'),
      waitMs: 1234,
    });
    const outcome = await dedup.process(messageOf('a'), async (_, { client }) => {
      const { rows } = await client.query<{ lock_timeout: string }>('SHOW lock_timeout');
      return rows[0]!.lock_timeout;
    });
    expect(outcome).toMatchObject({ status: 'processed', result: '0' });
  });
});

describe('clocks', () => {
  it('D8: a client whose clock is an hour off changes nothing: the database’s clock decides', async () => {
    const name = uniqueName('clock');
    const consumer = () =>
      createDeduplicator({ store: postgresStore({ pool }), namespace: name, retentionMs: 600_000 });
    await consumer().process(messageOf('a'), () => undefined);
    for (const offMs of [3_600_000, -3_600_000]) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offMs });
      try {
        const dedup = consumer();
        await dedup.maintain();
        const outcome = await dedup.process(messageOf('a'), () => undefined);
        expect(outcome.status).toBe('duplicate');
        const fresh = await dedup.process(messageOf(`at ${offMs}`), () => undefined);
        expect(fresh.status).toBe('processed');
      } finally {
        vi.useRealTimers();
      }
    }
    const { rows } = await pool.query<{ off: number }>(
      'SELECT max(abs(extract(epoch FROM now() - processed_at)))::float8 AS off FROM sendonce_dedup_keys WHERE namespace = $1',
      [name],
    );
    expect(rows[0]!.off).toBeLessThan(60);
  });
});

describe('tables', () => {
  it('names that try to inject are refused before they reach the database', () => {
    for (const table of [
      '',
      'a"; DROP TABLE effects; --',
      'a b',
      'a.b.c',
      '1a',
      'é',
      'x'.repeat(51),
      'a\0',
      '.a',
      'a.',
    ]) {
      expect(() => postgresStore({ pool, table }), table).toThrow(DedupConfigError);
    }
  });

  it('names that need quotes, and schemas, work', async () => {
    await pool.query('CREATE SCHEMA "Order"');
    for (const table of ['Select', 'Order.user', 'x'.repeat(50)]) {
      const store = postgresStore({ pool, table });
      await store.ensureSchema();
      const dedup = createDeduplicator({ store, namespace: 'n', commitOffsets: true });
      const message = messageOf('a', { offset: 3n });
      expect(reasonOf(await dedup.process(message, () => undefined))).toBe('processed');
      expect(reasonOf(await dedup.process(message, () => undefined))).toBe('duplicate');
      expect(await dedup.offsets(['payments'])).toEqual([{ topic: 'payments', partition: 0, nextOffset: 4n }]);
    }
  });

  it('ensureSchema may run in many processes at once, and again', async () => {
    await Promise.all(Array.from({ length: 8 }, () => postgresStore({ pool, table: 'at_once' }).ensureSchema()));
    await postgresStore({ pool, table: 'at_once' }).ensureSchema();
  });

  it('without tables, ready() says what to do, and messages fail', async () => {
    const dedup = createDeduplicator({ store: postgresStore({ pool, table: 'nowhere' }), namespace: 'n' });
    await expect(dedup.ready()).rejects.toThrow(/ensureSchema/);
    expect(await dedup.process(messageOf('a'), () => undefined)).toMatchObject({
      reason: 'store',
      error: { code: 'STORE_SETUP' },
    });
  });

  it('D8: the longest retention that any deduplicator asked for holds', async () => {
    const store = postgresStore({ pool, table: 'longest' });
    await store.ensureSchema();
    for (const days of [10, 3]) {
      await createDeduplicator({ store, namespace: `n${days}`, retentionMs: days * 86_400_000 }).ready();
    }
    const { rows } = await pool.query('SELECT retention_ms FROM longest_state');
    expect(rows).toEqual([{ retention_ms: String(10 * 86_400_000) }]);
  });
});
