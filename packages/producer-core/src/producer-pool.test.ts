import { describe, expect, test } from 'vitest';
import { ChurnWatch } from './churn.ts';
import { ConfigError } from './errors.ts';
import { guaranteesOf } from './guarantees.ts';
import type { ProducerInfo } from './observe/hooks.ts';
import { Observer } from './observe/observer.ts';
import { resolveOptions } from './options.ts';
import { watch } from './producer.testkit.ts';
import { createProducer, type Producer } from './producer.ts';
import { createProducerPool } from './producer-pool.ts';
import { ScriptedTransport, type SentRequest } from './scripted-transport.testkit.ts';
import { createSimulatedRuntime } from './testing/index.ts';

function poolOf(size: number) {
  const runtime = createSimulatedRuntime({ seed: 3 });
  const transports: ScriptedTransport[] = [];
  const sent: { producer: number; request: SentRequest }[] = [];
  const create = async (): Promise<Producer> => {
    const transport = new ScriptedTransport({ payments: [1, 1, 1, 1, 1, 1] });
    transport.nextProducerId = BigInt(transports.length);
    const producer = transports.push(transport) - 1;
    transport.onProduce = (request) => {
      sent.push({ producer, request });
      request.answer();
    };
    return await createProducer({ transport, runtime, logger: { info: () => {}, warn: () => {} } });
  };
  return { runtime, transports, sent, pool: createProducerPool({ create, size }) };
}

describe('C16: the pool', () => {
  test('makes its producers before the first send when it is started, each once, and tries again after a failure', async () => {
    const { runtime, transports, pool } = poolOf(3);
    const started = watch(Promise.all([pool.start(), pool.start()]));
    await runtime.advance(100);
    expect(started.value).toEqual([undefined, undefined]);
    expect(transports).toHaveLength(3);
    expect(pool.stats().map(({ state }) => state)).toEqual(['ready', 'ready', 'ready']);
    await pool.close();
    await expect(pool.start()).rejects.toThrow('The pool is closed.');

    let tries = 0;
    const failing = createProducerPool({ create: () => Promise.reject(new Error(`try ${++tries}`)) });
    await expect(failing.start()).rejects.toThrow('try 1');
    await expect(failing.start()).rejects.toThrow('try 2');
    await failing.close();
  });

  test('keeps a partition on the same producer, in the order of the calls', async () => {
    const { runtime, sent, pool, transports } = poolOf(3);
    const all = watch(
      Promise.all(
        Array.from({ length: 300 }, (_, index) =>
          pool.send({ topic: 'payments', key: `key-${index % 20}`, value: String(index) }),
        ),
      ),
    );
    await runtime.advance(100);
    expect(all.value).toHaveLength(300);
    for (let index = 300; index < 400; index++)
      watch(pool.send({ topic: 'payments', key: `key-${index % 20}`, value: String(index) }));
    await runtime.advance(100);
    expect(transports).toHaveLength(3);
    const owners = new Map<number, Set<number>>();
    const values = new Map<number, number[]>();
    for (const { producer, request } of sent) {
      for (const batch of request.batches) {
        owners.set(batch.partition, (owners.get(batch.partition) ?? new Set()).add(producer));
        values.set(batch.partition, [...(values.get(batch.partition) ?? []), ...batch.values.map(Number)]);
      }
    }
    for (const producers of owners.values()) expect(producers.size).toBe(1);
    for (const inPartition of values.values()) expect(inPartition).toEqual([...inPartition].sort((a, b) => a - b));
    expect([...values.values()].flat()).toHaveLength(400);
    await pool.close();
  });

  test('makes its producers when they are needed, and replaces one that was fenced', async () => {
    const { runtime, transports, pool, sent } = poolOf(1);
    expect(transports).toHaveLength(0);
    const first = watch(pool.send({ topic: 'payments', value: 'a' }));
    await runtime.advance(10);
    expect(first.value).toBeDefined();
    transports[0]!.onProduce = (request) => request.refuse('INVALID_PRODUCER_EPOCH');
    const fenced = watch(pool.send({ topic: 'payments', value: 'b' }));
    await runtime.advance(10);
    expect(fenced.error).toMatchObject({ name: 'ProducerFencedError' });
    const next = watch(pool.send({ topic: 'payments', value: 'c' }));
    await runtime.advance(10);
    expect(next.value).toBeDefined();
    expect(sent.at(-1)!.producer).toBe(1);
    await pool.flush();
    await pool.close();
    const late = watch(pool.send({ topic: 'payments', value: 'd' }));
    await runtime.settle();
    expect(late.error).toMatchObject({ code: 'PRODUCER_CLOSED' });
  });

  test('a producer that can’t be made rejects the sends that needed it, and is tried again for the next', async () => {
    const runtime = createSimulatedRuntime({ seed: 3 });
    let tries = 0;
    const pool = createProducerPool({
      create: async () => {
        if (++tries === 1) throw new Error('no broker');
        const transport = new ScriptedTransport();
        transport.onProduce = (request) => request.answer();
        return await createProducer({ transport, runtime, logger: { info: () => {}, warn: () => {} } });
      },
    });
    const first = watch(pool.send({ topic: 'payments', value: 'a' }));
    await runtime.settle();
    expect(first.error).toMatchObject({ message: 'no broker' });
    const second = watch(pool.send({ topic: 'payments', value: 'b' }));
    await runtime.advance(10);
    expect(second.value).toBeDefined();
    await pool.close();
  });

  test.each([
    [{}, 'create'],
    [{ create: () => {}, size: 0 }, 'size'],
    [{ create: () => {}, size: 1.5 }, 'size'],
    [{ create: () => {}, count: 2 }, 'count'],
  ])('options %j are refused by name', (options, field) => {
    try {
      createProducerPool(options as never);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as ConfigError).fields).toEqual([field]);
    }
  });
});

const producerInfo: ProducerInfo = {
  clientId: 'payments',
  guarantees: guaranteesOf(resolveOptions({ transport: new ScriptedTransport() })),
  stats: () => expect.unreachable(),
};

describe('C16: churn', () => {
  test('many short-lived producers warn once, with the count and the way to share one', () => {
    const warnings: string[] = [];
    const observer = new Observer({}, { info: () => {}, warn: (message) => warnings.push(message) }, producerInfo);
    const churn = new ChurnWatch();
    for (let index = 0; index < 30; index++) churn.closed(index * 1_000, index * 1_000 + 10, observer);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('10 producers');
    expect(warnings[0]).toContain('createProducerPool');
  });

  test('producers that live long, or come seldom, do not', () => {
    const warnings: string[] = [];
    const observer = new Observer({}, { info: () => {}, warn: (message) => warnings.push(message) }, producerInfo);
    const churn = new ChurnWatch();
    for (let index = 0; index < 30; index++) churn.closed(0, 100_000 + index, observer);
    for (let index = 0; index < 30; index++) churn.closed(index * 100_000, index * 100_000 + 10, observer);
    expect(warnings).toEqual([]);
  });
});
