import { describe, expect, test } from 'vitest';
import { bench, watch } from './producer.testkit.ts';
import type { Producer } from './producer.ts';
import { ScriptedTransport } from './scripted-transport.testkit.ts';

const record = (value: string) => ({ topic: 'payments', value });

describe('C18: linger is a bound, not a wait', () => {
  test('one caller pays no wait, and what comes while a batch is out shares the next', async () => {
    const { producer, runtime, transport } = await bench({ lingerMs: 100 });
    watch(producer.send(record('a')));
    await runtime.settle();
    const startedAtMs = runtime.monotonicMs();
    const first = transport.only();
    for (const value of ['b', 'c', 'd']) watch(producer.send(record(value)));
    await runtime.settle();
    expect(transport.take()).toEqual([]);
    first.answer();
    await runtime.settle();
    expect(transport.only().batch.values).toEqual(['b', 'c', 'd']);
    expect(runtime.monotonicMs()).toBe(startedAtMs);
  });

  test('lingerMs is the latest a batch leaves while others are out', async () => {
    const { producer, runtime, transport } = await bench({ lingerMs: 20 });
    watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    watch(producer.send(record('b')));
    await runtime.settle();
    transport.only();
    watch(producer.send(record('c')));
    await runtime.advance(19);
    expect(transport.take()).toEqual([]);
    await runtime.advance(2);
    expect(transport.only().batch.values).toEqual(['c']);
  });
});

describe('C18: partitions of one broker', () => {
  const send = (producer: Producer, partition: number, value: string) =>
    watch(producer.send({ topic: 'payments', partition, value }));
  const partitionsOf = (transport: ScriptedTransport) =>
    transport.take().map(({ brokerId, batches }) => [brokerId, batches.map(({ partition }) => partition)]);

  /** Lets the broker answer a batch of partition 0 after each of these times. */
  async function answeredAfter(
    answersMs: readonly number[],
    { producer, runtime, transport }: Awaited<ReturnType<typeof bench>>,
  ): Promise<void> {
    for (const answerMs of answersMs) {
      send(producer, 0, 'a');
      await runtime.settle();
      const request = transport.only();
      await runtime.advance(answerMs);
      request.answer();
      await runtime.settle();
    }
  }

  test('share the next request, while the broker works on one', async () => {
    const transport = new ScriptedTransport({ payments: [1, 1, 1, 2] });
    const { producer, runtime } = await bench({ lingerMs: 20 }, transport);
    send(producer, 0, 'a');
    await runtime.settle();
    const first = transport.only();
    for (const partition of [1, 2, 3, 0]) send(producer, partition, 'b');
    await runtime.settle();
    expect(partitionsOf(transport)).toEqual([[2, [3]]]);
    send(producer, 1, 'c');
    first.answer();
    await runtime.settle();
    expect(partitionsOf(transport)).toEqual([[1, [1, 2, 0]]]);
  });

  test('leave together when the first of them has waited lingerMs', async () => {
    const transport = new ScriptedTransport({ payments: [1, 1, 1] });
    const { producer, runtime } = await bench({ lingerMs: 20 }, transport);
    send(producer, 0, 'a');
    await runtime.settle();
    transport.only();
    send(producer, 1, 'b');
    await runtime.advance(15);
    send(producer, 2, 'c');
    await runtime.advance(4);
    expect(transport.take()).toEqual([]);
    await runtime.advance(1);
    expect(partitionsOf(transport)).toEqual([[1, [1, 2]]]);
  });

  test('wait longer for a broker that is behind, and no longer for one that is far away', async () => {
    for (const [answersMs, backlogMs] of [
      [[50, 50], 0],
      [[10, 50], 10],
      [[10, 20_000], 1_000],
    ] as const) {
      const transport = new ScriptedTransport({ payments: [1, 1] });
      const one = await bench({ lingerMs: 20 }, transport);
      const { producer, runtime } = one;
      await answeredAfter(answersMs, one);
      send(producer, 0, 'b');
      await runtime.settle();
      transport.only();
      send(producer, 1, 'c');
      await runtime.advance(20 + backlogMs - 1);
      expect(transport.take()).toEqual([]);
      await runtime.advance(1.1);
      expect(partitionsOf(transport)).toEqual([[1, [1]]]);
    }
  });

  test('go to the broker that leads them now', async () => {
    const transport = new ScriptedTransport({ payments: [1, 1, 2] });
    const { producer, runtime } = await bench({ lingerMs: 1_000 }, transport);
    send(producer, 0, 'a');
    send(producer, 2, 'b');
    await runtime.settle();
    const requests = transport.take();
    send(producer, 1, 'c');
    await runtime.settle();
    expect(transport.take()).toEqual([]);
    transport.topics = { payments: [1, 2, 1] };
    transport.leaderEpoch++;
    requests.find(({ brokerId }) => brokerId === 2)!.refuse('NOT_LEADER_OR_FOLLOWER');
    await runtime.advance(200);
    const again = transport.only();
    expect(again.batch.partition).toBe(2);
    again.answer();
    await runtime.settle();
    expect(partitionsOf(transport)).toEqual([[2, [1]]]);
  });

  test('leave time for one attempt within the delivery timeout, however far behind the broker is', async () => {
    const transport = new ScriptedTransport({ payments: [1, 1] });
    const timeouts = { requestTimeoutMs: 600, deliveryTimeoutMs: 800 };
    const one = await bench({ lingerMs: 5, ...timeouts }, transport);
    const { producer, runtime } = one;
    await answeredAfter([1, 590, 590, 590, 590, 590], one);
    send(producer, 0, 'b');
    await runtime.settle();
    transport.only();
    send(producer, 1, 'c');
    await runtime.advance(199);
    expect(transport.take()).toEqual([]);
    await runtime.advance(2);
    expect(partitionsOf(transport)).toEqual([[1, [1]]]);
  });

  test('go on waiting when a partition gets more whose batch is due and may not leave yet', async () => {
    const transport = new ScriptedTransport({ payments: [1, 1] });
    const { producer, runtime } = await bench({ lingerMs: 20 }, transport);
    send(producer, 0, 'a');
    await runtime.settle();
    transport.only();
    send(producer, 0, 'b');
    await runtime.advance(30);
    send(producer, 1, 'c');
    await runtime.settle();
    send(producer, 0, 'd');
    await runtime.advance(15);
    expect(transport.take()).toEqual([]);
    await runtime.advance(6);
    expect(partitionsOf(transport)).toEqual([[1, [1]]]);
  });

  test('start anew after a batch that was due when its time ran out', async () => {
    const transport = new ScriptedTransport({ payments: [1, 1] });
    const { producer, runtime } = await bench(
      { lingerMs: 20, requestTimeoutMs: 100, deliveryTimeoutMs: 200, maxInFlight: 2 },
      transport,
    );
    send(producer, 0, 'a');
    send(producer, 1, 'a');
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    for (const value of ['b', 'c']) {
      send(producer, 0, value);
      await runtime.advance(21);
    }
    const [request] = transport.take();
    const due = send(producer, 1, 'd');
    await runtime.advance(201);
    expect(due.error).toMatchObject({ code: 'DELIVERY_TIMEOUT', fate: 'not-stored' });
    send(producer, 1, 'e');
    request!.answer();
    await runtime.settle();
    expect(partitionsOf(transport)).toEqual([]);
    await runtime.advance(100);
    expect(partitionsOf(transport)).toEqual([[1, [1]]]);
  });

  test('wait for nothing when lingerMs is 0', async () => {
    const transport = new ScriptedTransport({ payments: [1, 1] });
    const { producer, runtime } = await bench({ lingerMs: 0 }, transport);
    send(producer, 0, 'a');
    await runtime.settle();
    send(producer, 1, 'b');
    await runtime.settle();
    expect(partitionsOf(transport)).toEqual([
      [1, [0]],
      [1, [1]],
    ]);
  });
});

describe('a request has each partition once', () => {
  test.each([true, false])(
    'also after a new leader epoch while its broker is full (idempotence: %s)',
    async (idempotence) => {
      const transport = new ScriptedTransport({ payments: [1, 1] });
      const { producer, runtime } = await bench(
        { lingerMs: 0, batchSize: 512, maxInFlight: 2, metadataMaxAgeMs: 1_000, idempotence },
        transport,
      );
      const send = (partition: number, value: string) => {
        watch(producer.send({ topic: 'payments', partition, value }));
        return runtime.settle();
      };
      await send(0, 'a');
      await send(1, 'a');
      for (const request of transport.take()) request.answer();
      await runtime.advance(1_100);
      transport.leaderEpoch++;
      transport.onMetadata = async (topics) => {
        await new Promise<void>((resolve) => runtime.schedule(50, resolve));
        return transport.describe(topics);
      };
      await send(0, 'b');
      await send(1, 'b');
      const [first] = transport.take();
      for (let count = 0; count < 4; count++) await send(0, 'x'.repeat(400));
      await runtime.advance(100);
      first!.answer();
      await runtime.settle();
      expect(transport.only().batch.partition).toBe(0);
    },
  );
});
