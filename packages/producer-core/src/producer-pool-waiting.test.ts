import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from './errors.ts';
import type { ProducerOptions } from './options.ts';
import { watch } from './producer.testkit.ts';
import { createProducer, type Producer } from './producer.ts';
import { createProducerPool, type ProducerPoolOptions } from './producer-pool.ts';
import type { ProducerRecord } from './record.ts';
import { ScriptedTransport, type SentBatch } from './scripted-transport.testkit.ts';
import { createSimulatedRuntime } from './testing/index.ts';

const silent = { info: () => {}, warn: () => {} };

interface SetUp extends Partial<Omit<ProducerPoolOptions, 'create' | 'runtime'>> {
  readonly options?: Partial<ProducerOptions>;
  /** Replaces how the nth producer, from 0, is made. */
  readonly create?: (made: number, usual: () => Promise<Producer>) => unknown;
}

function setUp({ options, create, ...poolOptions }: SetUp) {
  const runtime = createSimulatedRuntime({ seed: 3 });
  const transports: ScriptedTransport[] = [];
  const stored: (Pick<SentBatch, 'topic' | 'partition' | 'values'> & { producer: number })[] = [];
  const usual = (): Promise<Producer> => {
    const transport = new ScriptedTransport({ payments: [1, 1, 1, 1], refunds: [1, 1] });
    const producer = transports.push(transport) - 1;
    transport.nextProducerId = BigInt(producer);
    transport.onProduce = (request) => {
      for (const { topic, partition, values } of request.batches) stored.push({ topic, partition, values, producer });
      request.answer();
    };
    return createProducer({ transport, runtime, logger: silent, ...options });
  };
  let made = 0;
  const pool = createProducerPool({
    size: 2,
    runtime,
    ...poolOptions,
    create: () => (create === undefined ? usual() : (create(made++, usual) as Promise<Producer>)),
  });
  onTestFinished(async () => {
    const closed = pool.close({ timeoutMs: 0 });
    await runtime.advance(1);
    await closed;
  });
  const start = async (): Promise<void> => {
    const started = watch(pool.start());
    await runtime.advance(10);
    expect(started).toHaveProperty('value');
  };
  const toEach = (partitions: number[]) =>
    partitions.map((partition) => watch(pool.send({ topic: 'payments', partition, value: `to ${partition}` })));
  /** Partitions 0 to 3 of `payments`, by the producer that has them. */
  const partitionsOf = async (producer: number): Promise<number[]> => {
    toEach([0, 1, 2, 3]);
    await runtime.advance(10);
    return stored.filter((batch) => batch.producer === producer).map(({ partition }) => partition);
  };
  return { runtime, transports, stored, pool, start, toEach, partitionsOf };
}

const never = new Promise<never>(() => {});
const all = [0, 1, 2, 3];

describe('C16: what waits in the pool', () => {
  test.each([
    ['no producer is up', 1, false, {}],
    ['no producer is up', 2, false, {}],
    ['the topic is not known', 2, true, {}],
    ['the owner knows no metadata', 2, true, { partition: 1 }],
  ])('has the bytes that the record had at the call: %s (size %i)', async (_when, size, isStarted, where) => {
    const { pool, runtime, transports, start } = setUp({ size });
    if (isStarted) await start();
    const buffers = ['key', 'value', 'header'].map((text) => Buffer.from(text));
    const [key, value, header] = buffers;
    const headers = { header: header! };
    const sent = watch(pool.send({ topic: 'payments', key: key!, value: value!, headers, ...where }));
    for (const buffer of buffers) buffer.fill('X');
    headers.header = Buffer.from('Y');
    await runtime.advance(10);
    expect(sent.value).toBeDefined();
    const [batch] = transports.flatMap((transport) => transport.take()).flatMap(({ batches }) => batches);
    const text = Buffer.from(batch!.hex, 'hex').toString('latin1');
    for (const field of ['key', 'value', 'header']) expect(text).toContain(field);
    expect(text).not.toMatch(/X|Y/);
  });

  test('a topic that is not known holds up no other topic, and fails alone', async () => {
    const { pool, runtime, start, stored, toEach } = setUp({});
    await start();
    toEach(all);
    await runtime.advance(10);
    stored.length = 0;
    const typo = watch(pool.send({ topic: 'paymnets', value: 'a' }));
    await runtime.advance(1);
    const known = watch(Promise.all(all.map((n) => pool.send({ topic: 'payments', key: `k${n}`, value: String(n) }))));
    await runtime.advance(10);
    expect(known.value).toHaveLength(4);
    expect(typo).toEqual({});
    await runtime.advance(10_000);
    expect(typo.error).toMatchObject({ code: 'UNKNOWN_TOPIC', fate: 'not-stored' });
    expect(stored.flatMap(({ values }) => values).sort()).toEqual(['0', '1', '2', '3']);
  });

  test('keeps the order of a partition over its way from unknown topic to producer in the making', async () => {
    const { pool, runtime, stored } = setUp({
      size: 3,
      create: async (made, usual) => {
        await new Promise<void>((resolve) => runtime.schedule(made * 40, resolve));
        return await usual();
      },
    });
    const sends: Promise<unknown>[] = [];
    for (let index = 0; index < 300; index++) {
      const value = String(index).padStart(3, '0');
      const where: Partial<ProducerRecord> = index % 3 === 0 ? { partition: index % 4 } : { key: `k${index % 7}` };
      sends.push(
        pool.send({
          topic: index % 5 === 0 ? 'refunds' : 'payments',
          value,
          ...where,
          ...(index % 5 === 0 ? { partition: index % 2 } : {}),
        }),
      );
      if (index % 10 === 0) await runtime.advance(1);
    }
    const settled = watch(Promise.all(sends));
    await runtime.advance(1_000);
    expect(settled.value).toHaveLength(300);
    const byPartition = Map.groupBy(stored, ({ topic, partition }) => `${topic}-${partition}`);
    for (const batches of byPartition.values()) {
      const values = batches.flatMap((batch) => batch.values);
      expect(values).toEqual([...values].sort());
      expect(new Set(batches.map(({ producer }) => producer)).size).toBe(1);
    }
    expect(byPartition.size).toBe(6);
  });

  test.each([0, 1])(
    'producer %i, being replaced, holds up its own partitions alone; its failure fails those alone',
    async (n) => {
      let isBroken = false;
      const { pool, runtime, transports, start, toEach, partitionsOf } = setUp({
        create: async (_made, usual) => {
          if (!isBroken) return await usual();
          await new Promise<void>((resolve) => runtime.schedule(3_000, resolve));
          throw new Error('no new producer');
        },
      });
      await start();
      const own = await partitionsOf(n);
      const others = all.filter((partition) => !own.includes(partition));
      isBroken = true;
      transports[n]!.onProduce = (request) => request.refuse('INVALID_PRODUCER_EPOCH');
      toEach([own[0]!]);
      await runtime.advance(10);
      expect(pool.stats()[n]!.state).toBe('fenced');
      const held = toEach(own);
      const free = toEach(others);
      const keyed = watch(pool.send({ topic: 'refunds', key: 'a', value: 'a' }));
      const otherKeyed = watch(pool.send({ topic: 'refunds', key: 'd', value: 'a' }));
      await runtime.advance(10);
      for (const each of free) expect(each.value).toBeDefined();
      for (const each of held) expect(each).toEqual({});
      expect([keyed.value, otherKeyed.value].filter((value) => value !== undefined)).toHaveLength(1);
      await runtime.advance(3_000);
      for (const each of held) expect(each.error).toMatchObject({ message: 'no new producer' });
      isBroken = false;
      const again = toEach(all);
      await runtime.advance(10);
      for (const each of again) expect(each.value).toBeDefined();
    },
  );

  test('routes by any producer that is up, also when the one that was asked stops under way', async () => {
    let isBroken = false;
    const { pool, runtime, transports, start, toEach, partitionsOf } = setUp({
      create: (_made, usual) => (isBroken ? never : usual()),
    });
    await start();
    const [own] = await partitionsOf(0);
    transports[0]!.onMetadata = () => never;
    const waiting = [0, 1, 2, 3, 4, 5, 6, 7].map((n) =>
      watch(pool.send({ topic: 'refunds', key: `k${n}`, value: 'a' })),
    );
    await runtime.advance(10);
    expect(transports[0]!.metadataQuestions.at(-1)).toContain('refunds');
    expect(waiting.every((each) => Object.keys(each).length === 0)).toBe(true);
    isBroken = true;
    transports[0]!.onProduce = (request) => request.refuse('INVALID_PRODUCER_EPOCH');
    toEach([own!]);
    await runtime.advance(10);
    expect(waiting.filter(({ value }) => value !== undefined).length).toBeGreaterThan(0);
    expect(waiting.filter(({ error }) => error !== undefined)).toEqual([]);
  });

  test('an aborted signal ends the wait, for metadata and for a producer', async () => {
    const { pool, runtime, transports, start } = setUp({});
    await start();
    for (const transport of transports) transport.onMetadata = () => never;
    const abort = new AbortController();
    const sent = watch(pool.send({ topic: 'payments', value: 'a' }, { signal: abort.signal }));
    await runtime.advance(10);
    expect(sent).toEqual({});
    abort.abort(new Error('enough'));
    await runtime.settle();
    expect(sent.error).toMatchObject({ message: 'enough' });
    const late = watch(pool.send({ topic: 'payments', value: 'a' }, { signal: abort.signal }));
    await runtime.settle();
    expect(late.error).toMatchObject({ message: 'enough' });

    const cold = setUp({ create: () => never });
    const second = new AbortController();
    const unmade = watch(cold.pool.send({ topic: 'payments', value: 'a' }, { signal: second.signal }));
    second.abort(new Error('enough'));
    await cold.runtime.settle();
    expect(unmade.error).toMatchObject({ message: 'enough' });
  });

  test.each([
    ['for a producer', 'NO_PRODUCER', { partition: 0 }],
    ['for a topic', 'METADATA_TIMEOUT', {}],
  ])('C14: waits maxBlockMs at the longest %s', async (_what, code, where) => {
    const { pool, runtime } = setUp({ create: () => never, maxBlockMs: 500 });
    const sent = watch(pool.send({ topic: 'payments', value: 'a', ...where }));
    await runtime.advance(400);
    const later = watch(pool.send({ topic: 'payments', value: 'b', ...where }));
    await runtime.advance(99);
    expect(sent).toEqual({});
    await runtime.advance(1);
    expect(sent.error).toMatchObject({ code, fate: 'not-stored', retriable: true });
    expect(later).toEqual({});
    await runtime.advance(400);
    expect(later.error).toMatchObject({ code });
  });

  test('each has the producer’s whole maxBlockMs for its topic’s metadata, whoever asked first', async () => {
    const { pool, runtime, transports, start } = setUp({ options: { maxBlockMs: 1_000 } });
    await start();
    for (const transport of transports) transport.onMetadata = () => never;
    const first = watch(pool.send({ topic: 'payments', value: 'a' }));
    await runtime.advance(900);
    const second = watch(pool.send({ topic: 'payments', value: 'b' }));
    await runtime.advance(150);
    expect(first.error).toMatchObject({ code: 'METADATA_TIMEOUT' });
    expect(second).toEqual({});
    await runtime.advance(1_000);
    expect(second.error).toMatchObject({ code: 'METADATA_TIMEOUT' });
  });
});

describe('C16: closing and flushing the pool', () => {
  test.each([
    ['metadata', {}],
    ['a producer in the making', { create: () => never }],
  ])('close takes timeoutMs at the longest while sends wait for %s', async (what, more: SetUp) => {
    const { pool, runtime, transports, start } = setUp(more);
    if (what === 'metadata') await start();
    for (const transport of transports) transport.onMetadata = () => never;
    const sent = watch(pool.send({ topic: 'payments', value: 'a' }));
    const closed = watch(pool.close({ timeoutMs: 100 }));
    await runtime.advance(99);
    expect(sent).toEqual({});
    await runtime.advance(2);
    expect(sent.error).toMatchObject({ code: 'PRODUCER_CLOSED', fate: 'not-stored' });
    expect(closed).toHaveProperty('value');
    expect(transports.every(({ isClosed }) => isClosed)).toBe(true);
  });

  test('what waits when close is called is sent if it can be', async () => {
    const { pool, runtime, stored } = setUp({});
    const sent = watch(pool.send({ topic: 'payments', value: 'a' }));
    const closed = watch(pool.close());
    await runtime.advance(100);
    expect(sent.value).toBeDefined();
    expect(closed).toHaveProperty('value');
    expect(stored).toHaveLength(1);
  });

  test('a producer that is made after all is closed at once', async () => {
    let go = (): void => {};
    const { pool, runtime, transports } = setUp({
      size: 1,
      create: async (_made, usual) => {
        await new Promise<void>((resolve) => {
          go = resolve;
        });
        return await usual();
      },
    });
    watch(pool.start());
    const closed = watch(pool.close({ timeoutMs: 10 }));
    await runtime.advance(10);
    expect(closed).toHaveProperty('value');
    go();
    await runtime.advance(10);
    expect(transports.map(({ isClosed }) => isClosed)).toEqual([true]);
  });

  test('flush and close do not reject with what an earlier create threw', async () => {
    const { pool, runtime } = setUp({ size: 1, create: () => Promise.reject(new Error('no broker')) });
    const sent = watch(pool.send({ topic: 'payments', value: 'a' }));
    await runtime.advance(1);
    expect(sent.error).toMatchObject({ message: 'no broker' });
    await pool.flush();
    await pool.close();
  });

  test('flush waits for what waits in the pool', async () => {
    const { pool, runtime, stored } = setUp({});
    watch(pool.send({ topic: 'payments', value: 'a' }));
    const flushed = watch(pool.flush());
    await runtime.settle();
    await runtime.advance(100);
    expect(flushed).toHaveProperty('value');
    expect(stored).toHaveLength(1);
  });

  test.each([
    ['nothing', undefined, 'undefined'],
    ['an object', {}, 'an object (Object)'],
  ])(
    'a create that returns %s is a ConfigError of the sends, and close is none the worse',
    async (_what, made, named) => {
      const { pool, runtime } = setUp({ size: 1, create: () => made });
      const sent = watch(pool.send({ topic: 'payments', value: 'a' }));
      await runtime.advance(1);
      expect(sent.error).toBeInstanceOf(ConfigError);
      expect((sent.error as ConfigError).fields).toEqual(['create']);
      expect((sent.error as Error).message).toContain(named);
      await pool.close();
    },
  );

  test('a create that throws, or gives a producer that is closed already, is told to the sends once', async () => {
    let creates = 0;
    const throwing = setUp({
      create: () => {
        throw new Error('no configuration');
      },
    });
    const sent = watch(throwing.pool.send({ topic: 'payments', value: 'a' }));
    await throwing.runtime.advance(1);
    expect(sent.error).toMatchObject({ message: 'no configuration' });
    const closed = setUp({
      create: async (_made, usual) => {
        creates++;
        const producer = await usual();
        await producer.close();
        return producer;
      },
    });
    const refused = watch(closed.pool.send({ topic: 'payments', value: 'a' }));
    await closed.runtime.advance(10);
    expect((refused.error as Error).message).toContain('one that is closed');
    expect(creates).toBe(1);
  });

  test.each([
    ['send', null],
    ['send', { timeoutMs: 1 }],
    ['send', { signal: 'x' }],
    ['close', null],
    ['close', { timeoutMs: 'x' }],
    ['close', { timeout: 1 }],
  ])('C15: wrong options of %s are a rejected ConfigError: %j', async (call, options) => {
    const { pool, start } = setUp({});
    await start();
    const calling =
      call === 'send' ? pool.send({ topic: 'payments', value: 'a' }, options as never) : pool.close(options as never);
    await expect(calling).rejects.toBeInstanceOf(ConfigError);
  });

  test.each([
    [{ maxBlockMs: -1 }, 'maxBlockMs'],
    [{ maxBlockMs: 'x' }, 'maxBlockMs'],
    [{ runtime: null }, 'runtime'],
    [{ runtime: {} }, 'runtime'],
  ])('options %j are refused by name', (options, field) => {
    expect(() => createProducerPool({ create: () => never, ...options } as never)).toThrow(
      expect.objectContaining({ fields: [field] }),
    );
  });
});

describe('C16: a pool of several asks and reads as one producer does', () => {
  test.each([1, 2])('the idempotency key and the partitioner are asked once a record (size %i)', async (size) => {
    const keyed: string[] = [];
    const seen: unknown[] = [];
    const { pool, runtime, start } = setUp({
      size,
      options: {
        idempotencyKey: ({ value }) => {
          keyed.push(String(value));
          return value === 'none' ? undefined : String(value);
        },
        partitioner: ({ headers }) => {
          seen.push(headers);
          return 1;
        },
      },
    });
    for (const value of ['cold', 'none']) watch(pool.send({ topic: 'payments', value }));
    await runtime.advance(10);
    await start();
    for (const value of ['warm', 'none']) watch(pool.send({ topic: 'payments', value }));
    await runtime.advance(10);
    expect(keyed).toEqual(['cold', 'none', 'warm', 'none']);
    expect(seen).toEqual([[['idempotency-key', 'cold']], undefined, [['idempotency-key', 'warm']], undefined]);
  });

  class Payment {
    get topic(): string {
      return 'payments';
    }
    get value(): string {
      return '20.00 EUR';
    }
    get key(): string {
      return 'account-7';
    }
  }
  test.each([1, 2])('a record may have its fields from its class (size %i)', async (size) => {
    const { pool, runtime, stored } = setUp({ size });
    const sends = [watch(pool.send(new Payment()))];
    await runtime.advance(10);
    sends.push(watch(pool.send(new Payment())));
    await runtime.advance(10);
    for (const { value } of sends) expect(value).toBeDefined();
    expect(stored.map(({ values }) => values)).toEqual([['20.00 EUR'], ['20.00 EUR']]);
  });

  test.each([1, 2])('a record that can’t be read is a rejected ConfigError (size %i)', async (size) => {
    const { pool, start } = setUp({ size });
    const unreadable = {
      get topic(): string {
        throw new Error('boom');
      },
      value: 'a',
    };
    await expect(pool.send(unreadable)).rejects.toMatchObject({ code: 'CONFIG', fields: ['record'] });
    await start();
    await expect(pool.send(unreadable)).rejects.toMatchObject({ code: 'CONFIG', fields: ['record'] });
    await expect(pool.send(null as never)).rejects.toMatchObject({ code: 'CONFIG' });
  });
});
