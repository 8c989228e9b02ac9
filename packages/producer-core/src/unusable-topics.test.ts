import { describe, expect, test } from 'vitest';
import { bench, watch } from './producer.testkit.ts';
import { createProducer } from './producer.ts';
import { ScriptedTransport, type SentBatch, type SentRequest } from './scripted-transport.testkit.ts';
import { createSimulatedRuntime } from './testing/index.ts';
import { protocolErrorCodes } from './transport/protocol-errors.ts';

const record = (value: string) => ({ topic: 'payments', value });
/** Stores all but the batches that the cluster is to know nothing of. */
function answerBut(request: SentRequest, isUnknown: (batch: SentBatch) => boolean): void {
  request.answerWith(
    request.batches.map((batch) => ({
      topic: batch.topic,
      partition: batch.partition,
      errorCode: isUnknown(batch) ? protocolErrorCodes.UNKNOWN_TOPIC_OR_PARTITION : 0,
      baseOffset: isUnknown(batch) ? -1n : BigInt(batch.baseSequence),
      logAppendTimeMs: -1,
      logStartOffset: -1n,
    })),
  );
}

const silent = { info: () => {}, warn: () => {} };

describe('C11: a topic that is given up', () => {
  test('takes only its own records with it, whatever else of it waits for new numbers', async () => {
    const transport = new ScriptedTransport({ payments: [1], other: [1] });
    const { producer, runtime } = await bench({ lingerMs: 0, retryBackoffMs: 20 }, transport);
    const warm = watch(producer.send(record('opens the gate')));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    expect(warm.value).toBeDefined();

    const first = watch(producer.send(record('a')));
    await runtime.settle();
    const second = watch(producer.send(record('b')));
    await runtime.settle();
    const [a, b] = transport.take();
    a!.lose();
    b!.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    await runtime.settle();
    delete transport.topics.payments;
    transport.onProduce = (request) => answerBut(request, ({ topic }) => topic === 'payments');
    await runtime.advance(20_000);
    expect(first.error).toMatchObject({ code: 'UNKNOWN_TOPIC' });
    expect(second.error).toMatchObject({ code: 'UNKNOWN_TOPIC' });
    expect(producer.state).toBe('ready');

    const other = watch(producer.send({ topic: 'other', value: 'c' }));
    await runtime.advance(10);
    expect(other.value).toBeDefined();
  });

  test('is asked about again by the next record, so that one made again with fewer partitions is found', async () => {
    const transport = new ScriptedTransport({ payments: [1, 1, 1, 1] });
    transport.topicId = 'first';
    const { producer, runtime } = await bench({}, transport);
    const toLast = (value: string) => watch(producer.send({ ...record(value), partition: 3 }));
    const warm = toLast('warm');
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    expect(warm.value).toBeDefined();

    transport.onProduce = (request) => request.refuse('UNKNOWN_TOPIC_OR_PARTITION');
    const early = toLast('while it is gone');
    delete transport.topics.payments;
    await runtime.advance(20_000);
    expect(early.error).toMatchObject({ code: 'UNKNOWN_TOPIC' });

    transport.topics = { payments: [1, 1] };
    transport.topicId = 'second';
    transport.onProduce = (request) => answerBut(request, ({ partition }) => partition > 1);
    await Promise.all([runtime.advance(1_000), toLast('finds out')]);
    const keyed = Array.from({ length: 12 }, (_, key) =>
      watch(producer.send({ topic: 'payments', key: `key-${key}`, value: 'x' })),
    );
    await runtime.advance(1_000);
    expect(keyed.filter(({ value }) => value === undefined)).toEqual([]);
  });
});

describe('C13: a callback that sends again whenever it hears of a failure', () => {
  test.each([
    ['a topic that does not exist', { topic: 'nowhere', value: 'x' }],
    ['a partition that does not exist', { topic: 'payments', partition: 9, value: 'x' }],
  ])('does not keep the event loop for itself: %s', async (_, sent) => {
    const { producer, runtime } = await bench({ retryBackoffMs: 50 });
    let failures = 0;
    const again = (error: Error | null): void => {
      if (error === null) return;
      if (++failures > 10_000) throw new Error('It kept the event loop');
      producer.enqueue(sent, again);
    };
    await runtime.advance(200);
    for (let count = 0; count < 2; count++) producer.enqueue(sent, again);
    await runtime.advance(1_000);
    await runtime.advance(10_000);
    expect(failures).toBeGreaterThan(0);
    expect(failures).toBeLessThan(10_000);
  });
});

describe('C14: a record for a partition that does not exist', () => {
  test('holds up no other partition while nobody answers the question about it, and fails for what it waited for', async () => {
    const { producer, runtime, transport } = await bench({ maxBlockMs: 2_000 });
    transport.onProduce = (request) => request.answer();
    await Promise.all([producer.send(record('a')), runtime.advance(1_000)]);
    transport.onMetadata = () => new Promise(() => {});
    const missing = watch(producer.send({ ...record('b'), partition: 7 }));
    const healthy = watch(producer.send({ ...record('c'), partition: 0 }));
    await runtime.advance(10);
    expect(healthy.value).toBeDefined();
    await runtime.advance(2_000);
    expect(missing.error).toMatchObject({ code: 'METADATA_TIMEOUT', fate: 'not-stored' });
  });
});

describe('a partition without a leader', () => {
  test('is asked about only while somebody waits for it', async () => {
    const transport = new ScriptedTransport({ payments: [1, -1] });
    const { producer, runtime } = await bench({}, transport);
    transport.onProduce = (request) => request.answer();
    await Promise.all([producer.send({ ...record('a'), partition: 0 }), runtime.advance(1_000)]);
    transport.metadataQuestions = [];
    await runtime.advance(60_000);
    expect(transport.metadataQuestions).toEqual([]);
    expect(producer.stats().deadlines).toBe(0);

    const waits = watch(producer.send({ ...record('b'), partition: 1 }));
    await runtime.advance(1_000);
    expect(transport.metadataQuestions.length).toBeGreaterThan(1);
    transport.topics = { payments: [1, 1] };
    await runtime.advance(2_000);
    expect(waits.value).toBeDefined();
  });
});

describe('C10: a producer id that nobody answers for', () => {
  const creating = (options: { readonly maxBlockMs?: number; readonly signal?: AbortSignal }) => {
    const transport = new ScriptedTransport();
    transport.onInitProducerId = () => new Promise(() => {});
    const runtime = createSimulatedRuntime({ seed: 1 });
    const { signal, ...rest } = options;
    const outcome = watch(
      createProducer({ transport, runtime, logger: silent, ...rest }, signal === undefined ? {} : { signal }),
    );
    return { outcome, runtime };
  };

  test('is waited for no longer than maxBlockMs', async () => {
    const { outcome, runtime } = creating({ maxBlockMs: 300 });
    await runtime.advance(299);
    expect(outcome).toEqual({});
    await runtime.advance(2);
    expect(outcome.error).toMatchObject({ code: 'NO_PRODUCER_ID' });
  });

  test('is not waited for after the signal', async () => {
    const controller = new AbortController();
    const { outcome, runtime } = creating({ signal: controller.signal });
    await runtime.advance(200);
    controller.abort(new Error('Enough.'));
    await runtime.settle();
    expect(outcome.error).toMatchObject({ message: 'Enough.' });
  });
});

describe('a partitioner', () => {
  test('sees all that the application put into the record, and is asked once, although the record had to wait', async () => {
    const seen: unknown[] = [];
    const { producer, runtime, transport } = await bench({
      partitioner: (each) => {
        seen.push((each as { shard?: number }).shard);
        return 0;
      },
    });
    transport.onProduce = (request) => request.answer();
    const outcome = watch(producer.send({ ...record('a'), shard: 3 } as never));
    await runtime.advance(1_000);
    expect(outcome.value).toBeDefined();
    expect(seen).toEqual([3]);
  });

  test('is asked once a record while memory is full', async () => {
    let calls = 0;
    const { producer, runtime, transport } = await bench({
      bufferMemory: 8_192,
      batchSize: 1_024,
      maxRequestSize: 4_096,
      partitioner: () => {
        calls++;
        return 0;
      },
    });
    await runtime.settle();
    transport.onProduce = (request) => request.answer();
    const outcomes = Array.from({ length: 60 }, () => watch(producer.send(record('x'.repeat(700)))));
    await runtime.advance(5_000);
    expect(outcomes.filter(({ value }) => value === undefined)).toEqual([]);
    expect(calls).toBe(60);
  });
});

test('stats count records that were refused before they got into a batch, and those that wait', async () => {
  const { producer, runtime } = await bench({ maxBlockMs: 500, retryBackoffMs: 50 });
  await runtime.settle();
  const outcomes = [
    watch(producer.send({ topic: 'nowhere', value: 'x' })),
    watch(producer.send({ topic: 'payments', value: 'x'.repeat(2_000_000) })),
    watch(producer.send({ topic: '', value: 'x' })),
  ];
  await runtime.settle();
  expect(producer.stats().waitingRecords).toBe(1);
  await runtime.advance(1_000);
  expect(outcomes.every(({ error }) => error !== undefined)).toBe(true);
  expect(producer.stats()).toMatchObject({ recordsRefused: 3, recordsNotStored: 0, waitingRecords: 0 });
});
