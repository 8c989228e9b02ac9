import { describe, expect, test } from 'vitest';
import { TransportError } from './errors.ts';
import { bench, watch } from './producer.testkit.ts';
import { ScriptedTransport } from './scripted-transport.testkit.ts';

const record = (value: string) => ({ topic: 'payments', value });

/** A producer that has sent to a topic, whose leader's epoch is 7. */
async function written(options: Parameters<typeof bench>[0] = {}) {
  const transport = new ScriptedTransport();
  transport.topicId = 'first';
  transport.leaderEpoch = 7;
  const set = await bench({ retryBackoffMs: 20, ...options }, transport);
  const warm = watch(set.producer.send(record('warm')));
  await set.runtime.settle();
  transport.only().answer({ baseOffset: 900n });
  await set.runtime.settle();
  expect(warm.value).toBeDefined();
  const recreate = (leader: number): void => {
    transport.topics = { payments: [leader] };
    transport.topicId = 'second';
    transport.leaderEpoch = 0;
  };
  return { ...set, recreate };
}

describe('a topic that is deleted and made again', () => {
  test('a request says for which of the two its batches are, and the second only when the producer knows of it', async () => {
    const { producer, runtime, transport, recreate } = await written();
    recreate(1);
    watch(producer.send(record('a')));
    await runtime.settle();
    const former = transport.only();
    expect(former.request.partitions[0]!.topicId).toBe('first');
    former.refuse('UNKNOWN_TOPIC_ID');
    await runtime.advance(100);
    expect(transport.only().request.partitions[0]!.topicId).toBe('second');
  });

  test('a request goes on saying the first one while the cluster knows none', async () => {
    const { producer, runtime, transport } = await written();
    transport.topics = {};
    transport.topicId = undefined;
    watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().refuse('UNKNOWN_TOPIC_ID');
    await runtime.advance(100);
    expect(transport.take().at(-1)!.request.partitions[0]!.topicId).toBe('first');
  });

  test('a hint at the former one’s leader, which comes late, does not keep it from the new one’s', async () => {
    const { producer, runtime, transport, recreate } = await written();
    watch(producer.send(record('a')));
    await runtime.settle();
    const late = transport.only();
    recreate(2);
    await runtime.advance(100);
    // Makes it ask, and hear of the change.
    watch(producer.send({ topic: 'payments', partition: 1, value: 'no such partition' }));
    await runtime.advance(50);
    late.refuse('NOT_LEADER_OR_FOLLOWER', { currentLeader: { brokerId: 1, leaderEpoch: 8 } });
    await runtime.advance(200);
    expect(transport.only().brokerId).toBe(2);
  });

  test('answers that the former one is unknown do not count against the new one', async () => {
    const { producer, runtime, transport, recreate } = await written();
    const outcome = watch(producer.send(record('a')));
    const refusals = 4;
    transport.onMetadata = () => Promise.reject(new TransportError('Not now.', { sent: 'no' }));
    for (let count = 0; count < refusals; count++) {
      await runtime.advance(2_000);
      transport.only().refuse('UNKNOWN_TOPIC_ID');
    }
    recreate(1);
    transport.onMetadata = null;
    await runtime.advance(2_000);
    transport.only().refuse('UNKNOWN_TOPIC_OR_PARTITION');
    await runtime.advance(2_000);
    transport.only().answer({ baseOffset: 0n });
    await runtime.settle();
    expect(outcome.value?.offset).toBe(0n);
  });

  test.each([
    ['answers', 5, false],
    ['metadata', 4, true],
  ])(
    'C11: after %s had batches given up, the next one gets into the topic that was made again',
    async (_, refusals, hasMetadata) => {
      const { producer, runtime, transport, recreate } = await written();
      transport.topics = {};
      transport.topicId = undefined;
      transport.onMetadata = () => Promise.reject(new TransportError('Not now.', { sent: 'no' }));
      let refused = 0;
      transport.onProduce = (request) => {
        if (refused++ < refusals) request.refuse('UNKNOWN_TOPIC_ID');
        else request.lose('no');
      };
      const early = watch(producer.send(record('a')));
      while (refused < refusals) await runtime.advance(10);
      if (hasMetadata) transport.onMetadata = null;
      await runtime.advance(10_000);
      expect(early.error).toMatchObject({ code: 'UNKNOWN_TOPIC' });

      recreate(1);
      transport.onMetadata = (topics) =>
        new Promise((resolve) => runtime.schedule(200, () => resolve(transport.describe(topics))));
      transport.onProduce = (request) => {
        if (request.request.partitions[0]!.topicId === 'second') request.answer({ baseOffset: 0n });
        else request.refuse('UNKNOWN_TOPIC_ID');
      };
      const next = watch(producer.send(record('b')));
      await runtime.advance(5_000);
      expect(next.value?.offset).toBe(0n);
    },
  );

  test.each([
    ['as it is', 'OUT_OF_ORDER_SEQUENCE_NUMBER'],
    ['in two parts', 'MESSAGE_TOO_LARGE'],
  ] as const)('C8: a batch that the former one may have fails as unknown, %s', async (_, answer) => {
    const { producer, runtime, transport, recreate } = await written({
      deliveryTimeoutMs: 2_500,
      requestTimeoutMs: 500,
    });
    const outcomes = ['a', 'b'].map((value) => watch(producer.send(record(value))));
    await runtime.settle();
    const late = transport.only();
    recreate(1);
    await runtime.advance(100);
    // Makes it ask, and hear of the change.
    watch(producer.send({ topic: 'payments', partition: 1, value: 'no such partition' }));
    await runtime.advance(50);
    transport.onProduce = (request) => request.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    late.lose();
    await runtime.advance(1_500);
    expect(producer.stats().epochBumps).toBeGreaterThan(0);
    transport.onProduce = (request) => {
      if (request.batch.values.length > 1) request.refuse(answer);
      else request.lose('no');
    };
    await runtime.advance(1_500);
    expect(outcomes.map(({ error }) => error)).toMatchObject(
      Array(2).fill({ code: 'DELIVERY_TIMEOUT', fate: 'unknown' }),
    );
    expect(producer.stats().splits).toBe(answer === 'MESSAGE_TOO_LARGE' ? 1 : 0);
  });
});

describe('C14: a topic that gets more partitions while memory is full', () => {
  const small = { bufferMemory: 8_192, batchSize: 1_024, maxRequestSize: 4_096, retryBackoffMs: 20 };
  const filler = 'x'.repeat(900);

  async function full(transport: ScriptedTransport) {
    const set = await bench(small, transport);
    const { producer, runtime } = set;
    const warm = watch(producer.send(record('warm')));
    await runtime.settle();
    transport.only().answer();
    await runtime.advance(1_000);
    expect(warm.value).toBeDefined();
    let answerMetadata = (): void => {};
    transport.onMetadata = (topics) =>
      new Promise((resolve) => {
        answerMetadata = () => resolve(transport.describe(topics));
      });
    const fill = (): void => {
      for (let count = 0; count < 20; count++) watch(producer.send({ topic: 'payments', partition: 0, value: filler }));
    };
    const drain = async (): Promise<string[]> => {
      transport.topics = { payments: [1, 1] };
      transport.onMetadata = null;
      answerMetadata();
      const sent: string[] = [];
      transport.onProduce = (request) => {
        for (const { partition, values } of request.batches) if (partition === 1) sent.push(...values);
        request.answer();
      };
      for (const request of transport.take()) request.answer();
      await runtime.advance(5_000);
      return sent;
    };
    return { ...set, fill, drain };
  }

  test('records for a new one leave in the order of the calls, whatever each of them waited for', async () => {
    const { producer, fill, drain } = await full(new ScriptedTransport());
    const toNew = (value: string): void => void watch(producer.send({ topic: 'payments', partition: 1, value }));
    toNew('1');
    fill();
    toNew('2');
    toNew('3');
    expect(await drain()).toEqual(['1', '2', '3']);
  });

  test('a record’s partition is chosen at the call, so that none gets into a new one ahead of those that wait for it', async () => {
    const { producer, fill, drain } = await full(new ScriptedTransport());
    fill();
    const keyed = Array.from({ length: 12 }, (_, key) =>
      watch(producer.send({ topic: 'payments', key: `key-${key}`, value: `keyed ${key}` })),
    );
    watch(producer.send({ topic: 'payments', partition: 1, value: 'for the new one' }));
    expect(await drain()).toEqual(['for the new one']);
    expect(keyed.every(({ value }) => value?.partition === 0)).toBe(true);
  });
});
