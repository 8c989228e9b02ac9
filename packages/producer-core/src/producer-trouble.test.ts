import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import { ConfigError, ProtocolError, TransportError } from './errors.ts';
import { bench, watch } from './producer.testkit.ts';
import { createProducer } from './producer.ts';
import { loadCodec, readBatchHeader } from './record-batch/index.ts';
import { ScriptedTransport } from './scripted-transport.testkit.ts';
import { createSimulatedRuntime } from './testing/index.ts';
import { protocolErrorCodes } from './transport/protocol-errors.ts';

const record = (value: string) => ({ topic: 'payments', value });
const silent = { info: () => {}, warn: () => {} };

describe('C11: refusals', () => {
  test('a leader hint is followed without a question', async () => {
    const { producer, runtime, transport } = await bench();
    watch(producer.send(record('a')));
    await runtime.settle();
    transport.metadataQuestions = [];
    transport.only().refuse('NOT_LEADER_OR_FOLLOWER', { currentLeader: { brokerId: 2, leaderEpoch: 9 } });
    await runtime.settle();
    expect(transport.only()).toMatchObject({ brokerId: 2 });
    expect(transport.metadataQuestions).toEqual([]);
  });

  test('a stale leader hint is not followed', async () => {
    const { producer, runtime, transport } = await bench();
    transport.leaderEpoch = 5;
    watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().refuse('NOT_LEADER_OR_FOLLOWER', { currentLeader: { brokerId: 2, leaderEpoch: 4 } });
    await runtime.advance(300);
    expect(transport.only()).toMatchObject({ brokerId: 1 });
  });

  test('without a hint the metadata is asked before the next attempt, which then goes at once', async () => {
    const { producer, runtime, transport } = await bench({ retryBackoffMs: 100 });
    watch(producer.send(record('a')));
    await runtime.advance(500);
    transport.topics = { payments: [3] };
    transport.leaderEpoch = 1;
    transport.only().refuse('NOT_LEADER_OR_FOLLOWER');
    await runtime.settle();
    expect(transport.only()).toMatchObject({ brokerId: 3 });
  });

  test('MESSAGE_TOO_LARGE: split in two within the same numbers, down to one record', async () => {
    const { producer, runtime, transport } = await bench();
    const sends = ['a', 'b', 'c'].map((value) => watch(producer.send(record(value))));
    await runtime.settle();
    transport.only().refuse('MESSAGE_TOO_LARGE');
    await runtime.settle();
    const first = transport.only();
    expect(first.batch).toMatchObject({ baseSequence: 0, values: ['a', 'b'] });
    first.refuse('MESSAGE_TOO_LARGE');
    await runtime.settle();
    const a = transport.only();
    expect(a.batch).toMatchObject({ baseSequence: 0, values: ['a'] });
    a.refuse('MESSAGE_TOO_LARGE');
    await runtime.settle();
    expect(sends[0]!.error).toMatchObject({ name: 'RecordTooLargeError', fate: 'not-stored' });
    // C9: what follows is asked about under its old numbers, refused, and starts again at 0.
    for (const request of [transport.only()]) request.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    await runtime.settle();
    expect(producer.stats().splits).toBe(2);
    let offset = 10n;
    transport.onProduce = (request) => {
      request.answer({ baseOffset: offset });
      offset += BigInt(request.batch.values.length);
    };
    for (const request of transport.take()) request.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    await runtime.advance(2_000);
    expect(sends.slice(1).map(({ value }) => value?.offset)).toEqual([10n, 11n]);
    expect(producer.stats()).toMatchObject({ bufferUsedBytes: 0, pendingRecords: 0 });
  });

  test('C6, C9: after one that is too large while others are unresolved, none that follows is asked about: a leader that knows nothing of the producer would take it', async () => {
    const { producer, runtime, transport } = await bench();
    const sends = [...'abcdefgh'].map((value) => watch(producer.send(record(value))));
    await runtime.settle();
    transport.only().refuse('MESSAGE_TOO_LARGE');
    await runtime.settle();
    transport.only().refuse('MESSAGE_TOO_LARGE');
    await runtime.settle();
    transport.only().refuse('POLICY_VIOLATION');
    await runtime.settle();
    const asked = transport.only();
    expect(asked.batch).toMatchObject({ baseSequence: 2, values: ['c', 'd'] });
    asked.refuse('MESSAGE_TOO_LARGE');
    await runtime.settle();
    const stored: string[] = [];
    transport.onProduce = (request) => {
      request.answer({ baseOffset: BigInt(stored.length) });
      stored.push(...request.batch.values);
    };
    const anew = transport.only();
    expect(anew.batch).toMatchObject({ baseSequence: 0, values: ['c', 'd'] });
    anew.answer({ baseOffset: 0n });
    stored.push(...anew.batch.values);
    await runtime.advance(2_000);
    expect(stored.join('')).toBe('cdefgh');
    for (const { error } of sends.slice(0, 2)) expect(error).toMatchObject({ code: 'REFUSED', fate: 'not-stored' });
    expect(sends.slice(2).map(({ value }) => value?.offset)).toEqual([0n, 1n, 2n, 3n, 4n, 5n]);
  });

  test('MESSAGE_TOO_LARGE: a compressed batch is split, and its halves are compressed', async () => {
    const gzip = await loadCodec('gzip');
    const transport = new ScriptedTransport();
    transport.codecs = [gzip];
    const { producer, runtime } = await bench({ compression: gzip }, transport);
    const sends = ['a', 'b', 'c'].map((value) => watch(producer.send(record(value))));
    await runtime.settle();
    transport.only().refuse('MESSAGE_TOO_LARGE');
    await runtime.settle();
    const first = transport.only();
    expect(first.batch).toMatchObject({ baseSequence: 0, values: ['a', 'b'] });
    expect(readBatchHeader(Buffer.from(first.batch.hex, 'hex')).codecId).toBe(1);
    first.answer({ baseOffset: 0n });
    await runtime.settle();
    transport.only().answer({ baseOffset: 2n });
    await runtime.settle();
    expect(sends.map(({ value }) => value?.offset)).toEqual([0n, 1n, 2n]);
    expect(producer.stats()).toMatchObject({ bufferUsedBytes: 0, pendingRecords: 0 });
  });

  test('an unknown topic in answers is given up after its limit', async () => {
    const { producer, runtime, transport } = await bench();
    const sent = watch(producer.send(record('a')));
    transport.onProduce = (request) => request.refuse('UNKNOWN_TOPIC_OR_PARTITION');
    await runtime.advance(10_000);
    expect(sent.error).toMatchObject({ code: 'UNKNOWN_TOPIC', fate: 'unknown', attempts: 5 });
  });

  test('a code nobody knows fails the batch and hangs nothing', async () => {
    const { producer, runtime, transport } = await bench();
    const sent = watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer({ errorCode: 12_345 });
    await runtime.settle();
    expect(sent.error).toMatchObject({ code: 'REFUSED', fate: 'unknown' });
    watch(producer.send(record('b')));
    await runtime.settle();
    expect(transport.only().batch).toMatchObject({ epoch: 1, baseSequence: 0 });
  });

  test('not allowed to write to the topic: an AuthorizationError, and other topics go on', async () => {
    const { producer, runtime, transport } = await bench({}, new ScriptedTransport({ payments: [1], other: [1] }));
    const denied = watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().refuse('TOPIC_AUTHORIZATION_FAILED');
    const allowed = watch(producer.send({ topic: 'other', value: 'b' }));
    await runtime.settle();
    transport.only().answer({ baseOffset: 1n });
    await runtime.settle();
    expect(denied.error).toMatchObject({ name: 'AuthorizationError', fate: 'not-stored', topic: 'payments' });
    expect(allowed.value?.offset).toBe(1n);
  });

  test('an answer that does not match the request counts as no answer', async () => {
    const { producer, runtime, transport } = await bench();
    const sent = watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answerWith([]);
    await runtime.advance(200);
    transport.only().answer({ baseOffset: 2n });
    await runtime.settle();
    expect(sent.value?.offset).toBe(2n);
  });

  test('an answer below zero that a later retry learns is the true offset (P2)', async () => {
    const { producer, runtime, transport } = await bench();
    const sent = watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().refuse('DUPLICATE_SEQUENCE_NUMBER', { baseOffset: 77n });
    await runtime.settle();
    expect(sent.value?.offset).toBe(-1n);
  });
});

describe('C14: memory', () => {
  test('send waits in order, then rejects with BufferFullError; what waited longest goes first', async () => {
    const options = { bufferMemory: 8_192, maxRequestSize: 4_096, batchSize: 4_096, maxBlockMs: 500 };
    const { producer, runtime, transport } = await bench(options);
    const big = 'x'.repeat(3_500);
    const sends = ['1', '2', '3', '4'].map((value) => watch(producer.send(record(value + big))));
    await runtime.settle();
    expect(producer.stats().pendingRecords).toBe(4);
    transport.only().answer({ baseOffset: 0n });
    await runtime.settle();
    expect(
      transport
        .take()
        .flatMap(({ batches }) => batches)
        .map(({ values }) => values[0]![0]),
    ).toEqual(['2', '3']);
    await runtime.advance(600);
    expect(sends[3]!.error).toMatchObject({ name: 'BufferFullError', retriable: true });
    expect(producer.stats().bufferUsedBytes).toBe(8_192);
  });

  test('a signal ends the wait, and the record is not kept', async () => {
    const { producer, runtime, transport } = await bench({
      bufferMemory: 4_096,
      maxRequestSize: 4_096,
      batchSize: 4_096,
    });
    const big = 'x'.repeat(3_500);
    watch(producer.send(record(big)));
    const controller = new AbortController();
    const waiting = watch(producer.send(record(big), { signal: controller.signal }));
    const behind = watch(producer.send(record('small')));
    await runtime.settle();
    controller.abort(new Error('the caller left'));
    await runtime.settle();
    expect(waiting.error).toMatchObject({ message: 'the caller left' });
    const aborted = watch(producer.send(record('x'), { signal: AbortSignal.abort(new Error('before')) }));
    transport.only().answer();
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    expect(behind.value).toBeDefined();
    expect(aborted.error).toMatchObject({ message: 'before' });
  });

  test('P18: after a time of trouble the buffer opens again', async () => {
    const { producer, runtime, transport } = await bench({
      bufferMemory: 65_536,
      maxRequestSize: 16_384,
      batchSize: 16_384,
    });
    const sends = Array.from({ length: 300 }, (_, index) =>
      watch(producer.send(record(`${index}${'x'.repeat(1_000)}`))),
    );
    await runtime.advance(1_000);
    for (const request of transport.take()) request.lose();
    let offset = 0n;
    transport.onProduce = (request) => {
      request.answer({ baseOffset: offset });
      offset += BigInt(request.batch.values.length);
    };
    await runtime.advance(20_000);
    expect(sends.map(({ value }) => Number(value?.offset))).toEqual(sends.map((_, index) => index));
    expect(producer.stats()).toMatchObject({ bufferUsedBytes: 0, pendingRecords: 0 });
  });

  test('C13: close settles those who wait for memory, although failing batches give memory back', async () => {
    const options = { bufferMemory: 8_192, maxRequestSize: 4_096, batchSize: 4_096 };
    const { producer, runtime } = await bench(options);
    const sends = Array.from({ length: 12 }, (_, index) =>
      watch(producer.send(record(`${index}${'x'.repeat(1_500)}`))),
    );
    await runtime.settle();
    const closing = watch(producer.close({ timeoutMs: 50 }));
    await runtime.advance(60);
    expect(closing).toHaveProperty('value');
    for (const { error } of sends) expect(error).toMatchObject({ code: 'PRODUCER_CLOSED' });
    await runtime.settle();
    expect(producer.stats()).toMatchObject({ pendingRecords: 0, bufferUsedBytes: 0 });
  });

  test('C13: a record that waited for memory goes into one batch, although admitting it frees memory', async () => {
    const codec = {
      name: 'shorter',
      id: 1 as const,
      compress: (bytes: Uint8Array) => bytes.subarray(0, 10),
      decompress: (bytes: Uint8Array) => bytes,
    };
    const options = { bufferMemory: 8_192, maxRequestSize: 4_096, batchSize: 4_096, compression: codec };
    const transport = new ScriptedTransport({ payments: [1, 1, 1] });
    const counts: number[] = [];
    transport.inspectBatches = false;
    transport.onProduce = (request) => {
      for (const { batch } of request.request.partitions) counts.push(Buffer.from(batch).readInt32BE(57));
      request.answer({ baseOffset: 0n });
    };
    const { producer, runtime } = await bench(options, transport);
    const value = 'x'.repeat(1_500);
    const sends = [0, 1, 2, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0].map((partition) =>
      watch(producer.send({ topic: 'payments', value, partition })),
    );
    await runtime.advance(10_000);
    expect(sends.filter((sent) => sent.value !== undefined)).toHaveLength(sends.length);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(sends.length);
    expect(producer.stats()).toMatchObject({ pendingRecords: 0, bufferUsedBytes: 0 });
  });

  test('C13: a hook that sends while a full batch leaves loses nothing', async () => {
    let extra = 0;
    const sends: { value?: unknown }[] = [];
    const hooks = {
      onBatchDrained: () => {
        if (extra++ < 3) sends.push(watch(producer.send(record(`hook${extra}`))));
      },
    };
    const { producer, runtime, transport } = await bench({ hooks, batchSize: 2_048 });
    transport.onProduce = (request) => request.answer({ baseOffset: 0n });
    await producer.partitionFor(record('x'));
    for (let index = 0; index < 20; index++) sends.push(watch(producer.send(record('x'.repeat(500)))));
    await runtime.advance(1_000);
    expect(sends).toHaveLength(23);
    for (const { value } of sends) expect(value).toBeDefined();
    expect(producer.stats()).toMatchObject({ pendingRecords: 0, bufferUsedBytes: 0 });
  });

  test('C13: a record that is refused when memory is free again takes nobody with it', async () => {
    const partitioner = ({ value }: { value: unknown }): number => {
      if (value === 'bad') throw new Error('no idea');
      return 0;
    };
    const { producer, runtime, transport } = await bench({
      bufferMemory: 4_096,
      maxRequestSize: 4_096,
      batchSize: 4_096,
      partitioner,
    });
    const big = 'x'.repeat(3_500);
    const sends = [big, big, 'bad', 'after'].map((value) => watch(producer.send(record(value))));
    transport.onProduce = (request) => request.answer({ baseOffset: 0n });
    await runtime.advance(1_000);
    expect(sends.map(({ value, error }) => (value === undefined ? (error as Error)?.message : 'stored'))).toEqual([
      'stored',
      'stored',
      'Option partitioner threw for a record of topic payments. Nothing of the record was kept.',
      'stored',
    ]);
    expect(producer.stats()).toMatchObject({ pendingRecords: 0, bufferUsedBytes: 0 });
  });

  test('enqueue throws when there is no room, and nothing else is lost', async () => {
    const { producer, runtime } = await bench({ bufferMemory: 4_096, maxRequestSize: 4_096, batchSize: 4_096 });
    watch(producer.send(record('x'.repeat(3_900))));
    await runtime.settle();
    expect(() => producer.enqueue(record('y'.repeat(3_900)))).toThrow('bufferMemory');
    expect(producer.stats().pendingRecords).toBe(1);
  });

  test('a record over maxRequestSize is refused at once and alone', async () => {
    const { producer, runtime, transport } = await bench({
      maxRequestSize: 1_000,
      batchSize: 1_000,
      bufferMemory: 8_192,
    });
    const large = watch(producer.send(record('x'.repeat(1_000))));
    const small = watch(producer.send(record('y')));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    expect(large.error).toMatchObject({ name: 'RecordTooLargeError', fate: 'not-stored', attempts: 0 });
    expect(small.value).toBeDefined();
  });

  test('a slow partition does not stop the others', async () => {
    const lingerMs = 5;
    const { producer, runtime, transport } = await bench({ lingerMs }, new ScriptedTransport({ payments: [1, 1] }));
    const slow = watch(producer.send({ ...record('slow'), partition: 0 }));
    await runtime.settle();
    transport.take();
    for (let round = 0; round < 10; round++) {
      const fast = watch(producer.send({ ...record('fast'), partition: 1 }));
      await runtime.advance(lingerMs);
      transport.only().answer();
      await runtime.settle();
      expect(fast.value).toBeDefined();
    }
    expect(slow).toEqual({});
  });
});

describe('topics and partitions', () => {
  test('a topic that is not there is given up with a clear error; one that comes meanwhile is used', async () => {
    const transport = new ScriptedTransport({});
    const { producer, runtime } = await bench({}, transport);
    const missing = watch(producer.send({ topic: 'typo', value: 'a' }));
    await runtime.advance(10_000);
    expect(missing.error).toMatchObject({ code: 'UNKNOWN_TOPIC', fate: 'not-stored' });
    expect((missing.error as Error).message).toContain('typo');

    const late = watch(producer.send({ topic: 'late', value: 'b' }));
    await runtime.settle();
    transport.topics = { late: [1] };
    transport.onProduce = (request) => request.answer({ baseOffset: 0n });
    await runtime.advance(1_000);
    expect(late.value?.offset).toBe(0n);
  });

  test('a partition that does not exist is refused after one look, and one that was added is used', async () => {
    const { producer, runtime, transport } = await bench();
    transport.onProduce = (request) => request.answer({ baseOffset: 0n });
    watch(producer.send(record('a')));
    await runtime.advance(1_000);
    const missing = watch(producer.send({ ...record('b'), partition: 1 }));
    await runtime.advance(1_000);
    expect(missing.error).toMatchObject({ code: 'UNKNOWN_PARTITION', fate: 'not-stored', partition: 1 });
    transport.topics = { payments: [1, 1] };
    await runtime.advance(1_000);
    const added = watch(producer.send({ ...record('c'), partition: 1 }));
    await runtime.advance(1_000);
    expect(added.value).toMatchObject({ partition: 1 });
  });

  test('records that wait for metadata go in the order of their calls', async () => {
    const { producer, runtime, transport } = await bench();
    for (const value of ['a', 'b', 'c']) producer.enqueue(record(value));
    watch(producer.send(record('d')));
    await runtime.settle();
    expect(transport.only().batch.values).toEqual(['a', 'b', 'c', 'd']);
  });

  test('a record’s bytes are taken at the call, even when it has to wait', async () => {
    const { producer, runtime, transport } = await bench();
    const buffer = Buffer.from('first');
    producer.enqueue({ topic: 'payments', value: buffer });
    buffer.write('later');
    await runtime.settle();
    expect(transport.only().batch.values).toEqual(['first']);
  });

  test('no metadata within maxBlockMs: an error that carries the last problem', async () => {
    const transport = new ScriptedTransport();
    transport.onMetadata = async () => {
      throw new TransportError('connect ECONNREFUSED 127.0.0.1:1', { sent: 'no' });
    };
    const { producer, runtime } = await bench({ maxBlockMs: 700 }, transport);
    const sent = watch(producer.send(record('a')));
    await runtime.advance(800);
    expect(sent.error).toMatchObject({ code: 'METADATA_TIMEOUT', fate: 'not-stored', cause: { code: 'TRANSPORT' } });
  });
});

describe('people’s code that throws', () => {
  test('hooks and logger that throw are counted, and lose nothing', async () => {
    const boom = (): never => {
      throw new Error('boom');
    };
    const hooks = {
      onBatchDrained: boom,
      onAttemptStarted: boom,
      onAttemptEnded: boom,
      onBatchSettled: boom,
      onEvent: boom,
    };
    const { producer, runtime, transport } = await bench({ hooks, logger: { info: boom, warn: boom } });
    const sent = watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    expect(sent.value).toBeDefined();
    expect(producer.stats().hookFailures).toBe(5);
  });

  test('a callback that throws is counted, and the others are called', async () => {
    const { producer, runtime, transport } = await bench();
    let called = 0;
    producer.enqueue(record('a'), () => {
      throw new Error('boom');
    });
    producer.enqueue(record('b'), () => called++);
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    expect(called).toBe(1);
    expect(producer.stats().hookFailures).toBe(1);
  });

  test.each([
    ['stored', false],
    ['failed', false],
    ['stored', true],
  ])(
    'an async callback of a record that is %s may reject: counted, and no unhandled rejection',
    async (fate, isWatched) => {
      const { producer, runtime, transport } = await bench(
        isWatched ? { hooks: { onRecord: () => ({ onSettled: () => {} }) } } : {},
      );
      producer.enqueue(record('a'), async () => {
        throw new Error('boom');
      });
      await runtime.settle();
      const request = transport.only();
      if (fate === 'stored') request.answer();
      else request.refuse('INVALID_RECORD');
      await runtime.advance(0);
      expect(producer.stats()).toMatchObject({ hookFailures: 1, pendingRecords: 0 });
    },
  );

  test.each([
    [() => 7, 'returned 7'],
    [() => -1, 'returned -1'],
    [() => Number.NaN, 'returned NaN'],
    [() => 'a' as unknown as number, 'returned a string'],
    [() => Promise.resolve(0) as unknown as number, 'returned an object (Promise)'],
  ])('a partitioner that returns nonsense is a ConfigError of that record alone', async (partitioner, words) => {
    const { producer, runtime, transport } = await bench({ partitioner });
    const sent = watch(producer.send(record('a')));
    const explicit = watch(producer.send({ ...record('b'), partition: 0 }));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    expect(sent.error).toBeInstanceOf(ConfigError);
    expect((sent.error as Error).message).toContain(words);
    expect(explicit.value).toBeDefined();
  });

  test.each([
    ['an Error', new Error('no idea')],
    ['nothing', undefined],
  ])('a partitioner that throws %s is a ConfigError of that record alone', async (_what, cause) => {
    const { producer, runtime, transport } = await bench({
      partitioner: () => {
        throw cause;
      },
    });
    const beforeMetadata = watch(producer.send(record('a')));
    await runtime.settle();
    const afterMetadata = watch(producer.send(record('b')));
    const explicit = watch(producer.send({ ...record('c'), partition: 0 }));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    for (const { error } of [beforeMetadata, afterMetadata]) {
      expect(error).toBeInstanceOf(ConfigError);
      expect(error).toMatchObject({ fields: ['partitioner'], cause });
    }
    expect(() => producer.enqueue(record('d'))).toThrow('partitioner threw');
    expect(explicit.value).toBeDefined();
    expect(producer.stats()).toMatchObject({ pendingRecords: 0, bufferUsedBytes: 0 });
  });

  test('a codec that throws fails its batch as not-stored, and the next batch goes', async () => {
    let calls = 0;
    const codec = {
      name: 'broken',
      id: 1 as const,
      compress: (bytes: Uint8Array) => {
        if (++calls === 1) throw new Error('no memory');
        return Promise.resolve(bytes);
      },
      decompress: (bytes: Uint8Array) => bytes,
    };
    const { producer, runtime, transport } = await bench({ compression: codec });
    transport.onProduce = (request) => request.answer();
    const first = watch(producer.send(record('a')));
    await runtime.settle();
    expect(first.error).toMatchObject({
      code: 'COMPRESSION_FAILED',
      fate: 'not-stored',
      cause: { message: 'no memory' },
    });
    expect(producer.stats()).toMatchObject({ pendingRecords: 0, bufferUsedBytes: 0 });
  });

  test('records that fail with nobody listening are counted and reported', async () => {
    const { producer, runtime, transport, events } = await bench();
    producer.enqueue(record('a'));
    producer.enqueue(record('b'));
    await runtime.settle();
    transport.only().refuse('INVALID_RECORD');
    await runtime.settle();
    expect(events).toContainEqual(expect.objectContaining({ type: 'unheard-failures', records: 2 }));
    expect(producer.stats().unheardFailures).toBe(2);
  });
});

describe('start', () => {
  test('COORDINATOR_LOAD_IN_PROGRESS is asked again until there is a producer id', async () => {
    const transport = new ScriptedTransport();
    let asked = 0;
    transport.onInitProducerId = async () => {
      if (++asked < 4)
        throw new ProtocolError('not yet', protocolErrorCodes.COORDINATOR_LOAD_IN_PROGRESS, { retriable: true });
      return { producerId: 9n, epoch: 0 };
    };
    const runtime = createSimulatedRuntime({ seed: 1 });
    const creating = watch(createProducer({ transport, runtime, logger: silent }));
    await runtime.advance(2_000);
    expect(creating.value?.stats().producerId).toBe(9n);
    await creating.value?.close();
  });

  test('a cluster that allows no idempotent writes is an error at once, and everything is closed', async () => {
    const transport = new ScriptedTransport();
    transport.onInitProducerId = async () => {
      throw new ProtocolError('denied', protocolErrorCodes.CLUSTER_AUTHORIZATION_FAILED);
    };
    const runtime = createSimulatedRuntime({ seed: 1 });
    const creating = watch(createProducer({ transport, runtime, logger: silent }));
    await runtime.settle();
    expect(creating.error).toMatchObject({ errorName: 'CLUSTER_AUTHORIZATION_FAILED' });
    expect(transport.isClosed).toBe(true);
    expect(runtime.pendingTasks).toBe(0);
  });

  test('no producer id within maxBlockMs says so', async () => {
    const transport = new ScriptedTransport();
    transport.onInitProducerId = async () => {
      throw new TransportError('reset', { sent: 'maybe' });
    };
    const runtime = createSimulatedRuntime({ seed: 1 });
    const creating = watch(createProducer({ transport, runtime, logger: silent, maxBlockMs: 500 }));
    await runtime.advance(600);
    expect(creating.error).toMatchObject({ code: 'NO_PRODUCER_ID', retriable: true });
  });

  test('a signal ends connecting', async () => {
    const transport = new ScriptedTransport();
    transport.onConnect = () => new Promise(() => {});
    const controller = new AbortController();
    const runtime = createSimulatedRuntime({ seed: 1 });
    const creating = watch(createProducer({ transport, runtime, logger: silent }, { signal: controller.signal }));
    await runtime.settle();
    controller.abort(new Error('shutting down'));
    await runtime.settle();
    expect(creating.error).toMatchObject({ message: 'shutting down' });
    expect(transport.isClosed).toBe(true);
  });
});

describe('C17: no caller’s context', () => {
  test('the transport is called outside the async context of whoever sends', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const { producer, runtime, transport } = await bench({ lingerMs: 0, batchSize: 1_024 });
    transport.onProduce = (request) => {
      seen.push(storage.getStore());
      request.answer();
    };
    const inside: (string | undefined)[] = [];
    const done = watch(
      storage.run('a request', async () => {
        await producer.send(record('a'));
        inside.push(storage.getStore());
        await Promise.all(Array.from({ length: 50 }, (_, index) => producer.send(record('x'.repeat(200) + index))));
        await producer.flush();
      }),
    );
    await runtime.advance(100);
    expect(done).toHaveProperty('value');
    expect(inside).toEqual(['a request']);
    expect(seen.length).toBeGreaterThan(2);
    expect(new Set(seen)).toEqual(new Set([undefined]));
  });
});

describe('C19: old timestamps', () => {
  test('P24: the first record older than brokers remember is reported, once a topic', async () => {
    const { producer, runtime, events } = await bench({ producerIdExpirationMs: 1_000 });
    const old = runtime.wallClockMs() - 5_000;
    for (const topic of ['payments', 'payments', 'other']) watch(producer.send({ topic, value: 'a', timestamp: old }));
    watch(producer.send({ topic: 'payments', value: 'a', timestamp: runtime.wallClockMs() }));
    await runtime.settle();
    const reports = events.filter(({ type }) => type === 'retries-unprotected');
    expect(reports).toMatchObject([{ topic: 'payments', timestamp: old }, { topic: 'other' }]);
  });
});

describe('C9: partitions', () => {
  test('P3, P6: a bump of one partition leaves the epoch and the numbers of the others as they are', async () => {
    const { producer, runtime, transport } = await bench({ lingerMs: 0 }, new ScriptedTransport({ payments: [1, 1] }));
    const send = async (partition: number, value: string) => {
      watch(producer.send({ ...record(value), partition }));
      await runtime.settle();
      return transport.only();
    };
    for (const partition of [0, 1]) (await send(partition, 'first')).answer();
    await runtime.settle();
    (await send(0, 'refused')).refuse('INVALID_RECORD');
    await runtime.settle();
    const bumped = await send(0, 'next');
    expect(bumped.batch).toMatchObject({ epoch: 1, baseSequence: 0 });
    const other = await send(1, 'next');
    expect(other.batch).toMatchObject({ epoch: 0, baseSequence: 1 });
    expect(other.batch.producerId).toBe(bumped.batch.producerId);
    for (const request of [bumped, other]) request.answer();
    await runtime.settle();
    expect(await send(1, 'again').then(({ batch }) => batch)).toMatchObject({ epoch: 0, baseSequence: 2 });
  });
});

describe('C7: a producer that the broker may have forgotten', () => {
  test('has one batch in flight after a long pause, and whenever its records are old', async () => {
    const { producer, runtime, transport } = await bench({ producerIdExpirationMs: 10_000, lingerMs: 0 });
    const inFlight = async (timestamp?: number): Promise<number> => {
      for (const value of ['a', 'b']) {
        watch(producer.send({ ...record(value), timestamp }));
        await runtime.settle();
      }
      const requests = transport.take();
      for (const request of requests) request.answer();
      await runtime.settle();
      for (const request of transport.take()) request.answer();
      await runtime.settle();
      return requests.length;
    };
    expect(await inFlight()).toBe(1);
    expect(await inFlight()).toBe(2);
    await runtime.advance(5_000);
    expect(await inFlight()).toBe(1);
    expect(await inFlight()).toBe(2);
    expect(await inFlight(runtime.wallClockMs() - 8_000)).toBe(2);
    expect(await inFlight()).toBe(1);
  });
});

describe('flush', () => {
  test('resolves when everything before it is settled, whatever became of it', async () => {
    const { producer, runtime, transport } = await bench({ lingerMs: 60_000 });
    watch(producer.send(record('a')));
    await runtime.settle();
    const first = transport.only();
    watch(producer.send(record('b')));
    const flushed = watch(producer.flush());
    await runtime.settle();
    expect(flushed).toEqual({});
    first.answer();
    await runtime.settle();
    transport.only().refuse('INVALID_RECORD');
    await runtime.settle();
    expect(flushed).toHaveProperty('value');
  });

  test('does not wait for lingerMs', async () => {
    const { producer, runtime, transport } = await bench({ lingerMs: 60_000 });
    watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    watch(producer.send(record('b')));
    await runtime.settle();
    transport.only();
    watch(producer.send(record('c')));
    await runtime.settle();
    expect(transport.take()).toEqual([]);
    watch(producer.flush());
    await runtime.settle();
    expect(transport.only().batch.values).toEqual(['c']);
  });
});

describe('C9: a question that is lost', () => {
  test('is followed by the first one again, so that a broker which forgot the producer meanwhile stores them in order', async () => {
    const { producer, runtime, transport } = await bench({ lingerMs: 0 });
    watch(producer.send(record('opens the gate')));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    for (const value of ['a', 'b', 'c']) {
      watch(producer.send(record(value)));
      await runtime.settle();
    }
    const [a, b, c] = transport.take();
    a!.refuse('INVALID_RECORD');
    b!.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    c!.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    await runtime.settle();
    const first = transport.only();
    expect(first.batch.values).toEqual(['b']);
    first.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    await runtime.settle();
    const second = transport.only();
    expect(second.batch.values).toEqual(['c']);
    second.lose();
    await runtime.advance(500);
    expect(transport.only().batch.values).toEqual(['b']);
  });
});

describe('C9: batches that a later one proved stored', () => {
  test('one of them is acknowledged although its own retry ends in an error that is not retried', async () => {
    const { producer, runtime, transport } = await bench();
    const opening = watch(producer.send(record('opens the gate')));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    expect(opening.value).toBeDefined();

    const first = watch(producer.send(record('a')));
    await runtime.settle();
    const second = watch(producer.send(record('b')));
    await runtime.advance(10);
    const [a, b] = transport.take();
    a!.lose();
    b!.answer();
    await runtime.advance(300);
    expect(second.value).toBeDefined();
    expect(first).toEqual({});
    transport.only().fail(new TransportError('Access denied.', { sent: 'maybe', retriable: false }));
    await runtime.settle();
    expect(first.error).toBeUndefined();
    expect(first.value?.offset).toBe(-1n);
  });
});

describe('a topic that is deleted and made again', () => {
  test('its leaders are followed although their epochs begin again, and the application is told', async () => {
    const transport = new ScriptedTransport();
    transport.topicId = 'first';
    transport.leaderEpoch = 7;
    const { producer, runtime, events } = await bench({}, transport);
    const before = watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer({ baseOffset: 900n });
    await runtime.settle();
    expect(before.value).toBeDefined();

    transport.topicId = 'second';
    transport.topics = { payments: [2] };
    transport.leaderEpoch = 0;
    const after = watch(producer.send(record('b')));
    await runtime.settle();
    transport.only().refuse('UNKNOWN_TOPIC_ID');
    await runtime.advance(500);
    const again = transport.only();
    expect(again.brokerId).toBe(2);
    again.answer({ baseOffset: 0n });
    await runtime.settle();
    expect(after.value?.offset).toBe(0n);
    expect(events.filter(({ type }) => type === 'topic-recreated')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'data-loss-suspected')).toEqual([]);
  });

  test('a partition that the new topic does not have takes no new records, and settles what it holds', async () => {
    const transport = new ScriptedTransport({ payments: [1, 1, 1] });
    transport.topicId = 'first';
    const { producer, runtime } = await bench({ lingerMs: 0 }, transport);
    const old = watch(producer.send({ ...record('a'), partition: 2 }));
    await runtime.settle();
    const sent = transport.only();

    transport.topicId = 'second';
    transport.topics = { payments: [1] };
    sent.refuse('UNKNOWN_TOPIC_OR_PARTITION');
    await runtime.advance(200);
    transport.take();
    const anew = Array.from({ length: 20 }, (_, key) =>
      watch(producer.send({ topic: 'payments', key: `${key}`, value: 'b' })),
    );
    await runtime.settle();
    const forNew = transport.only();
    expect(forNew.batch.partition).toBe(0);
    forNew.answer();
    await runtime.settle();
    expect(anew.every(({ value }) => value !== undefined)).toBe(true);

    const closing = watch(producer.close({ timeoutMs: 0 }));
    await runtime.advance(1);
    expect(closing).toHaveProperty('value');
    expect(old.error).toMatchObject({ code: 'PRODUCER_CLOSED', fate: 'unknown' });
  });

  test('an offset that went back under the same id is told as a loss', async () => {
    const { producer, runtime, transport, events } = await bench();
    watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer({ baseOffset: 900n });
    await runtime.settle();
    watch(producer.send(record('b')));
    await runtime.settle();
    transport.only().answer({ baseOffset: 5n });
    await runtime.settle();
    expect(events).toContainEqual({
      type: 'data-loss-suspected',
      topic: 'payments',
      partition: 0,
      trigger: 'offset-went-back',
    });
    expect(producer.stats().dataLossSuspected).toBe(1);
  });

  test('a log that is cut again and again is counted each time, and put into words once a minute', async () => {
    const warnings: string[] = [];
    const { producer, runtime, transport } = await bench({
      logger: { info: () => {}, warn: (message) => warnings.push(message) },
    });
    transport.onProduce = (request) => request.answer({ baseOffset: 0n });
    const sendTwice = async (): Promise<void> => {
      for (let count = 0; count < 2; count++) await Promise.all([producer.send(record('a')), runtime.advance(100)]);
    };
    await sendTwice();
    await sendTwice();
    expect(producer.stats().dataLossSuspected).toBe(3);
    expect(warnings).toHaveLength(1);
    await runtime.advance(60_000);
    await sendTwice();
    expect(warnings).toHaveLength(2);
  });
});
