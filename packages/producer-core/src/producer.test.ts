import { describe, expect, test } from 'vitest';
import { DeliveryError, DeliveryTimeoutError, ProducerClosedError, SendBatchError } from './errors.ts';
import { bench, watch } from './producer.testkit.ts';
import { ScriptedTransport } from './scripted-transport.testkit.ts';

const record = (value: string) => ({ topic: 'payments', value });

describe('a record’s way', () => {
  test('C2: a batch leaves with the producer’s id, its epoch and sequence, and comes back with offsets', async () => {
    const { producer, runtime, transport } = await bench();
    const first = watch(producer.send(record('a')));
    const second = watch(producer.send({ topic: 'payments', key: 'k', value: 'b', timestamp: 123 }));
    await runtime.settle();
    const request = transport.only();
    expect(request.batch).toMatchObject({ producerId: 5_001n, epoch: 0, baseSequence: 0, values: ['a', 'b'] });
    request.answer({ baseOffset: 900n });
    await runtime.settle();
    expect([first.value?.offset, second.value?.offset]).toEqual([900n, 901n]);
    expect(second.value).toMatchObject({ topic: 'payments', partition: 0, timestamp: 123 });
  });

  test('P1: ten thousand concurrent sends leave in the order of the calls', async () => {
    const { producer, runtime, transport } = await bench();
    let offset = 0n;
    const stored: string[] = [];
    transport.onProduce = (request) => {
      stored.push(...request.batch.values);
      request.answer({ baseOffset: offset });
      offset += BigInt(request.batch.values.length);
    };
    const sends = Array.from({ length: 10_000 }, (_, index) => producer.send(record(String(index))));
    const all = watch(Promise.all(sends));
    await runtime.advance(50);
    expect(all.error).toBeUndefined();
    expect(all.value!.map((metadata) => Number(metadata.offset))).toEqual(sends.map((_, index) => index));
    expect(stored).toEqual(sends.map((_, index) => String(index)));
  });

  test('C1, C3: a retry is the same bytes', async () => {
    const { producer, runtime, transport } = await bench();
    const sent = watch(producer.send(record('a')));
    await runtime.settle();
    const first = transport.only();
    first.lose();
    await runtime.advance(200);
    const second = transport.only();
    expect(second.batch.hex).toBe(first.batch.hex);
    second.answer({ baseOffset: 7n });
    await runtime.settle();
    expect(sent.value?.offset).toBe(7n);
    expect(producer.stats()).toMatchObject({ retries: 1, attemptsLost: 1, recordsAcknowledged: 1 });
  });

  test('enqueue calls back once, and says when to wait', async () => {
    const { producer, runtime, transport } = await bench({
      bufferMemory: 16_384,
      maxRequestSize: 8_192,
      batchSize: 4_096,
    });
    const called: (string | undefined)[] = [];
    await settleTopic(producer, runtime, transport);
    const answers = ['a'.repeat(3_000), 'b'.repeat(3_000), 'c'.repeat(3_000)].map((value) =>
      producer.enqueue(record(value), (error, metadata) => called.push(error?.message ?? String(metadata!.offset))),
    );
    expect(answers).toEqual([true, true, false]);
    const ready = watch(producer.ready().then(() => 'ready'));
    transport.onProduce = (request) => request.answer({ baseOffset: 1n });
    for (const request of transport.take()) request.answer({ baseOffset: 1n });
    await runtime.settle();
    expect(called).toEqual(['1', '1', '1']);
    expect(ready.value).toBe('ready');
  });

  test('sendBatch waits for all, and one rejection carries every result', async () => {
    const { producer, runtime, transport } = await bench();
    const all = watch(producer.sendBatch([record('a'), record('b')]));
    await runtime.settle();
    transport.only().answer({ baseOffset: 3n });
    await runtime.settle();
    expect(all.value?.map(({ offset }) => offset)).toEqual([3n, 4n]);

    const some = watch(producer.sendBatch([record('c'), { topic: '', value: 'd' }, record('e')]));
    await runtime.settle();
    transport.only().answer({ baseOffset: 5n });
    await runtime.settle();
    expect(some.error).toBeInstanceOf(SendBatchError);
    const { results } = some.error as SendBatchError;
    expect(results.map(({ metadata, error }) => metadata?.offset ?? error?.name)).toEqual([5n, 'ConfigError', 6n]);
  });
});

describe('C8: the delivery timeout', () => {
  test('a batch that was never sent fails as not-stored and uses up no number', async () => {
    const transport = new ScriptedTransport({ payments: [-1] });
    const { producer, runtime } = await bench({ deliveryTimeoutMs: 1_000, requestTimeoutMs: 500 }, transport);
    const sent = watch(producer.send(record('a')));
    await runtime.advance(1_100);
    expect(sent.error).toBeInstanceOf(DeliveryTimeoutError);
    expect(sent.error).toMatchObject({ fate: 'not-stored', attempts: 0, topic: 'payments', partition: 0 });
    transport.topics = { payments: [1] };
    watch(producer.send(record('b')));
    await runtime.advance(1_500);
    expect(transport.only().batch).toMatchObject({ epoch: 0, baseSequence: 0, values: ['b'] });
  });

  test('one that was sent fails with its fate, and its partition takes the next epoch', async () => {
    const { producer, runtime, transport, events } = await bench({ deliveryTimeoutMs: 1_000, requestTimeoutMs: 900 });
    const sent = watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().lose();
    await runtime.advance(150);
    const second = transport.only();
    await runtime.advance(900);
    expect(sent.error).toMatchObject({ fate: 'unknown', attempts: 2, code: 'DELIVERY_TIMEOUT' });
    second.lose();
    watch(producer.send(record('b')));
    await runtime.advance(2_000);
    expect(transport.take()[0]!.batch).toMatchObject({ epoch: 1, baseSequence: 0, values: ['b'] });
    expect(events.map(({ type }) => type)).toContain('epoch-bumped');
  });

  test('C12, C13: an answer after the deadline changes nothing for the caller', async () => {
    const { producer, runtime, transport } = await bench({ deliveryTimeoutMs: 1_000, requestTimeoutMs: 900 });
    let settled = 0;
    producer.enqueue(record('a'), () => settled++);
    await runtime.settle();
    const request = transport.only();
    await runtime.advance(1_100);
    expect(settled).toBe(1);
    request.answer({ baseOffset: 4n });
    await runtime.advance(10);
    expect(settled).toBe(1);
    expect(producer.stats()).toMatchObject({
      recordsUnknown: 1,
      recordsAcknowledged: 0,
      bufferUsedBytes: 0,
      epochBumps: 0,
    });
  });
});

describe('C9: what failed with an open fate', () => {
  test('keeps its memory until its partition is resolved, and then gives it back', async () => {
    const { producer, runtime, transport } = await bench({ lingerMs: 0 });
    const first = watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer({ baseOffset: 0n });
    await runtime.settle();
    const waiting = watch(producer.send(record('b')));
    await runtime.settle();
    const failing = watch(producer.send(record('c')));
    await runtime.settle();
    const [b, c] = transport.take();
    c!.refuse('UNKNOWN_SERVER_ERROR');
    await runtime.settle();
    expect(failing.error).toMatchObject({ fate: 'unknown' });
    b!.refuse('NETWORK_EXCEPTION');
    await runtime.advance(200);
    transport.only().refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    await runtime.settle();
    const question = transport.only();
    expect(question.batch.hex).toBe(c!.batch.hex);
    // An answer that says nothing is no refusal: asked again after a pause.
    question.refuse('UNKNOWN_SERVER_ERROR');
    await runtime.settle();
    expect(transport.take()).toEqual([]);
    await runtime.advance(500);
    transport.only().answer({ baseOffset: 2n });
    await runtime.settle();
    expect(waiting.value?.offset).toBe(-1n);
    expect(first.value?.offset).toBe(0n);
    expect(producer.stats()).toMatchObject({
      bufferUsedBytes: 0,
      epochBumps: 0,
      recordsUnknown: 1,
      recordsAcknowledged: 2,
    });
  });
});

describe('the end', () => {
  test('P17: close settles what is pending, and refuses what comes after', async () => {
    const { producer, runtime, transport } = await bench();
    const before = watch(producer.send(record('a')));
    const closing = watch(producer.close());
    const after = watch(producer.send(record('b')));
    await runtime.settle();
    transport.only().answer({ baseOffset: 1n });
    await runtime.settle();
    expect(before.value?.offset).toBe(1n);
    expect(after.error).toBeInstanceOf(ProducerClosedError);
    expect(closing).toHaveProperty('value');
    expect(transport.isClosed).toBe(true);
    expect(producer.state).toBe('closed');
    await producer.close();
  });

  test('P15: close ends within its time, and says record by record what it could not deliver', async () => {
    const { producer, runtime, transport } = await bench();
    const sent = watch(producer.send(record('a')));
    await runtime.settle();
    const never = watch(producer.send(record('b')));
    const closing = watch(producer.close({ timeoutMs: 100 }));
    await runtime.advance(101);
    expect(closing).toHaveProperty('value');
    expect(sent.error).toBeInstanceOf(DeliveryError);
    expect(sent.error).toMatchObject({ code: 'PRODUCER_CLOSED', fate: 'unknown', attempts: 1 });
    expect(never.error).toMatchObject({ code: 'PRODUCER_CLOSED', fate: 'not-stored', attempts: 0 });
    expect(transport.requests).toHaveLength(1);
    await runtime.settle();
    expect(producer.stats()).toMatchObject({ bufferUsedBytes: 0, pendingRecords: 0, deadlines: 0 });
    expect(runtime.pendingTasks).toBe(0);
  });

  test('await using closes the producer', async () => {
    const { producer, runtime, transport } = await bench();
    transport.onProduce = (request) => request.answer();
    const scope = async (): Promise<void> => {
      await using mine = producer;
      await mine.send(record('a'));
    };
    const done = watch(scope());
    await runtime.advance(10);
    expect(done).toHaveProperty('value');
    expect(producer.state).toBe('closed');
  });

  test('C11: fenced at its epoch, the producer stops and says so to everyone', async () => {
    const { producer, runtime, transport, events } = await bench();
    const first = watch(producer.send(record('a')));
    await runtime.settle();
    const second = watch(producer.send(record('b')));
    transport.only().refuse('INVALID_PRODUCER_EPOCH');
    await runtime.settle();
    expect(first.error).toMatchObject({ name: 'ProducerFencedError', fate: 'not-stored' });
    expect(second.error).toMatchObject({ name: 'ProducerFencedError', fate: 'not-stored' });
    const later = watch(producer.send(record('c')));
    await runtime.settle();
    expect(later.error).toMatchObject({ name: 'ProducerClosedError' });
    expect(producer.state).toBe('fenced');
    expect(events.at(-1)?.type).toBe('fatal');
  });
});

async function settleTopic(
  producer: { partitionFor(record: { topic: string; value: string }): number | Promise<number> },
  runtime: { settle(): Promise<void> },
  _transport: ScriptedTransport,
): Promise<void> {
  void producer.partitionFor(record('x'));
  await runtime.settle();
}
