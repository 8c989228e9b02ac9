import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { describe, expect, test } from 'vitest';
import { ConfigError, DeliveryError, TransportError } from '../errors.ts';
import { bench, watch } from '../producer.testkit.ts';
import { createProducer } from '../producer.ts';
import type { RecordHeaders } from '../record.ts';
import { decodeRecordBatch } from '../record-batch/index.ts';
import { ScriptedTransport, type SentRequest } from '../scripted-transport.testkit.ts';
import { createSimulatedRuntime } from '../testing/index.ts';
import { protocolErrorCodes } from '../transport/protocol-errors.ts';
import { channelHooks, type RecordMessage } from './channel-hooks.ts';
import { combineHooks } from './combine-hooks.ts';
import type { AttemptOutcome, BatchInfo, ProducerHooks, RecordWatch } from './hooks.ts';

const record = (value: string) => ({ topic: 'payments', value });

const headersOf = (request: SentRequest) =>
  decodeRecordBatch(request.request.partitions[0]!.batch).records.map(({ headers }) =>
    headers.map(([name, value]) => [String(name), String(value)]),
  );

/** Hooks that note what they hear of each record, in order. */
function noting() {
  const heard = new Map<string, string[]>();
  const hooks: ProducerHooks = {
    onRecord({ value }) {
      const notes: string[] = [];
      heard.set(String(value), notes);
      return {
        onDrained: ({ epoch, baseSequence }) => notes.push(`drained ${epoch}/${baseSequence}`),
        onSettled: (error, metadata) => notes.push(error === null ? `stored ${metadata!.offset}` : error.name),
      };
    },
  };
  return { hooks, heard };
}

describe('onRecord', () => {
  test('is called in the async context of whoever sends; other hooks are not (C17)', async () => {
    const caller = new AsyncLocalStorage<string>();
    const contexts: [string, string | undefined][] = [];
    const note = (name: string) => (): undefined => void contexts.push([name, caller.getStore()]);
    const { producer, runtime, transport } = await bench({
      hooks: {
        onRecord: note('record'),
        onBatchDrained: note('drained'),
        onAttemptStarted: note('started'),
        onAttemptEnded: note('ended'),
        onBatchSettled: note('settled'),
      },
    });
    transport.onProduce = (request) => request.answer();
    watch(caller.run('a', () => producer.send(record('a'))));
    watch(caller.run('b', () => producer.sendBatch([record('b')])));
    caller.run('c', () => producer.enqueue(record('c')));
    await runtime.advance(10);
    expect(contexts.filter(([name]) => name === 'record').map(([, context]) => context)).toEqual(['a', 'b', 'c']);
    const others = contexts.filter(([name]) => name !== 'record');
    expect(others.map(([name]) => name)).toEqual(['drained', 'started', 'ended', 'settled']);
    expect(others.map(([, context]) => context)).toEqual(others.map(() => undefined));
  });

  test('C1: the record leaves with a watch’s headers, the same in a resend, and the caller’s object is as it was', async () => {
    const headers: RecordHeaders = [['own', '1']];
    const sent = { topic: 'payments', value: 'a', headers };
    const { producer, runtime, transport } = await bench({
      hooks: { onRecord: () => ({ headers: [...headers, ['trace', 't']] }) },
    });
    watch(producer.send(sent));
    await runtime.settle();
    const first = transport.only();
    expect(headersOf(first)).toEqual([
      [
        ['own', '1'],
        ['trace', 't'],
      ],
    ]);
    first.lose();
    await runtime.advance(500);
    expect(transport.only().batch.hex).toBe(first.batch.hex);
    expect(sent).toEqual({ topic: 'payments', value: 'a', headers: [['own', '1']] });
  });

  test('a watch hears that its batch leaves, then how it ends, before its caller does', async () => {
    const order: string[] = [];
    const batches: BatchInfo[] = [];
    const { producer, runtime, transport } = await bench({
      hooks: {
        onRecord: () => ({
          onDrained: (batch) => {
            order.push('watch drained');
            batches.push(batch);
          },
          onSettled: () => order.push('watch settled'),
        }),
        onBatchDrained: (batch) => {
          order.push('batch drained');
          batches.push(batch);
        },
        onAttemptStarted: ({ batch }) => batches.push(batch),
        onAttemptEnded: ({ batch }) => batches.push(batch),
        onBatchSettled: (batch) => {
          order.push('batch settled');
          batches.push(batch);
        },
      },
    });
    producer.enqueue(record('a'), () => order.push('caller'));
    await runtime.settle();
    transport.only().answer({ baseOffset: 7n });
    await runtime.settle();
    expect(order).toEqual(['watch drained', 'batch drained', 'batch settled', 'watch settled', 'caller']);
    expect(new Set(batches).size).toBe(1);
    expect(batches[0]).toMatchObject({ topic: 'payments', partition: 0, recordCount: 1, producerId: 5_001n });
    expect(batches[0]!.sizeBytes).toBeGreaterThan(61);
    expect(batches[0]!.producer.clientId).toBe('sendonce');
  });

  test('C13: whichever way a record was sent and however it ends, its watch hears it once', async () => {
    const { hooks, heard } = noting();
    const { producer, runtime, transport } = await bench({ hooks, deliveryTimeoutMs: 1_000, requestTimeoutMs: 500 });
    const send = watch(producer.send(record('send')));
    const call = watch(producer.sendBatch([record('batch-1'), record('batch-2')]));
    const callback: unknown[] = [];
    producer.enqueue(record('callback'), (error, metadata) => callback.push(error, metadata?.offset));
    producer.enqueue(record('nobody'));
    await runtime.settle();
    transport.only().answer({ baseOffset: 40n });
    await runtime.settle();
    expect([...heard.values()].map((notes) => notes.at(-1))).toEqual([40, 41, 42, 43, 44].map((n) => `stored ${n}`));
    expect(send.value!.offset).toBe(40n);
    expect(call.value!.map(({ offset }) => offset)).toEqual([41n, 42n]);
    expect(callback).toEqual([null, 43n]);

    const failed = watch(producer.send(record('send-fails')));
    const failedCall = watch(producer.sendBatch([record('batch-fails')]));
    producer.enqueue(record('callback-fails'), (error) => callback.push(error?.name));
    producer.enqueue(record('nobody-hears'));
    await runtime.settle();
    transport.only().refuse('INVALID_RECORD');
    await runtime.settle();
    expect(failed.error).toBeInstanceOf(DeliveryError);
    expect(failedCall.error).toMatchObject({ code: 'SEND_BATCH' });
    expect(callback.at(-1)).toBe('DeliveryError');
    for (const value of ['send-fails', 'batch-fails', 'callback-fails', 'nobody-hears']) {
      expect(heard.get(value), value).toEqual([expect.stringMatching(/^drained/), 'DeliveryError']);
    }
    expect(producer.stats()).toMatchObject({ unheardFailures: 1, hookFailures: 0, pendingRecords: 0 });
  });

  test('C13: a watch hears of a record that was never in a batch', async () => {
    const { hooks, heard } = noting();
    const transport = new ScriptedTransport({ payments: [1], later: [1] });
    transport.onMetadata = () => Promise.reject(new TransportError('No broker.', { sent: 'no' }));
    const { producer, runtime } = await bench(
      { hooks, maxBlockMs: 500, maxRequestSize: 4_096, bufferMemory: 4_096 },
      transport,
    );
    watch(producer.send(record('no metadata')));
    const stopping = new AbortController();
    watch(producer.send(record('aborted'), { signal: stopping.signal }));
    stopping.abort();
    expect(() => producer.enqueue(record('y'.repeat(5_000)))).toThrow();
    await runtime.advance(1_000);
    watch(producer.send(record('closing')));
    const closing = producer.close({ timeoutMs: 0 });
    await runtime.advance(1);
    await closing;
    expect([...heard.values()]).toEqual([
      ['DeliveryError'],
      ['AbortError'],
      ['RecordTooLargeError'],
      ['DeliveryError'],
    ]);
  });

  test('C9: a watch is told again when its batch gets new numbers', async () => {
    const { hooks, heard } = noting();
    const { producer, runtime, transport } = await bench({ hooks });
    watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer();
    watch(producer.send(record('b')));
    await runtime.settle();
    for (let round = 0; round < 3; round++) {
      for (const request of transport.take()) request.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
      await runtime.advance(2_000);
      if (transport.requests[0]?.batch.epoch === 1) break;
    }
    transport.only().answer();
    await runtime.settle();
    expect(heard.get('b')).toEqual(['drained 0/1', 'drained 1/0', expect.stringMatching(/^stored/)]);
  });

  test('headers that would make the record too large are left out, and the record is sent', async () => {
    const settled: unknown[] = [];
    const { producer, runtime, transport } = await bench({
      maxRequestSize: 1_000,
      bufferMemory: 8_192,
      hooks: {
        onRecord: () => ({ headers: [['trace', 'x'.repeat(500)]], onSettled: (error) => settled.push(error) }),
      },
    });
    const sent = watch(producer.send(record('a'.repeat(800))));
    await runtime.settle();
    const request = transport.only();
    expect(headersOf(request)).toEqual([[]]);
    request.answer();
    await runtime.settle();
    expect(sent.value).toBeDefined();
    expect(settled).toEqual([null]);
  });

  test('headers that can’t be written are left out and counted', async () => {
    const settled: unknown[] = [];
    const wrong = { headers: [['trace', 7]], onSettled: (error: unknown) => settled.push(error) } as unknown;
    const { producer, runtime, transport } = await bench({ hooks: { onRecord: () => wrong as RecordWatch } });
    watch(producer.send({ ...record('a'), headers: { own: '1' } }));
    await runtime.settle();
    const request = transport.only();
    expect(headersOf(request)).toEqual([[['own', '1']]]);
    request.answer();
    await runtime.settle();
    expect(settled).toEqual([null]);
    expect(producer.stats().hookFailures).toBe(1);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('boom');
      },
      1,
    ],
    ['returns nonsense', () => 7, 0],
    ['returns null', () => null, 0],
    [
      'is async and rejects',
      async () => {
        throw new Error('boom');
      },
      1,
    ],
    [
      'returns a watch that throws',
      () => ({
        onDrained: () => {
          throw new Error('boom');
        },
        onSettled: () => {
          throw new Error('boom');
        },
      }),
      2,
    ],
    [
      'returns a watch with getters that throw',
      () => ({
        get onSettled(): never {
          throw new Error('boom');
        },
      }),
      1,
    ],
  ])('a hook that %s loses nothing', async (_what, onRecord, failures) => {
    const { producer, runtime, transport } = await bench({ hooks: { onRecord: onRecord as never } });
    const sent = watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    expect(sent.value).toBeDefined();
    expect(producer.stats().hookFailures).toBe(failures);
  });
});

describe('onRecordRefused', () => {
  test('hears of every record that got into no batch, once', async () => {
    const refused: [string | null, string][] = [];
    const transport = new ScriptedTransport({ payments: [1] });
    const { producer, runtime } = await bench(
      {
        hooks: {
          onRecordRefused: (topic, error) => refused.push([topic, (error as { code?: string }).code ?? error.name]),
        },
        maxBlockMs: 500,
        maxRequestSize: 4_096,
        bufferMemory: 4_096,
        batchSize: 4_096,
      },
      transport,
    );
    watch(producer.send({ topic: 'payments' } as never));
    watch(producer.send(null as never));
    watch(producer.send({ topic: 7, value: '' } as never));
    watch(producer.sendBatch([{ topic: 'payments', value: 7 } as never]));
    expect(() => producer.enqueue(record('x'), 7 as never)).toThrow(ConfigError);
    watch(producer.send({ ...record('x'), partition: 9 }));
    await runtime.settle();
    watch(producer.send(record('x'.repeat(3_900))));
    await runtime.settle();
    expect(() => producer.enqueue(record('y'.repeat(3_900)))).toThrow('bufferMemory');
    watch(producer.send(record('y'.repeat(3_900))));
    await runtime.advance(1_000);
    expect(refused).toEqual([
      ['payments', 'CONFIG'],
      [null, 'CONFIG'],
      [null, 'CONFIG'],
      ['payments', 'CONFIG'],
      ['payments', 'CONFIG'],
      ['payments', 'UNKNOWN_PARTITION'],
      ['payments', 'BUFFER_FULL'],
      ['payments', 'BUFFER_FULL'],
    ]);
    const closing = producer.close({ timeoutMs: 0 });
    await runtime.advance(1);
    await closing;
    watch(producer.send(record('z')));
    expect(refused.at(-1)).toEqual(['payments', 'PRODUCER_CLOSED']);
  });
});

describe('attempts and batches', () => {
  test('C11: an attempt’s end says what it did to the log, as far as is known', async () => {
    const outcomes: Partial<AttemptOutcome>[] = [];
    const { producer, runtime, transport } = await bench({
      hooks: {
        onAttemptEnded: (_attempt, { action, effect, errorName, isOldest }) =>
          outcomes.push({ action, effect, errorName, isOldest }),
      },
    });
    watch(producer.send(record('a')));
    const answers: ((request: SentRequest) => void)[] = [
      (request) => request.lose('no'),
      (request) => request.lose('maybe'),
      (request) => request.refuse('NOT_ENOUGH_REPLICAS'),
      (request) => request.refuse('REQUEST_TIMED_OUT'),
      (request) => request.refuse('DUPLICATE_SEQUENCE_NUMBER'),
    ];
    for (const answer of answers) {
      await runtime.advance(1_500);
      answer(transport.only());
    }
    await runtime.settle();
    expect(outcomes).toEqual([
      { action: 'lost', effect: 'none', errorName: 'TRANSPORT', isOldest: true },
      { action: 'lost', effect: 'maybe', errorName: 'TRANSPORT', isOldest: true },
      { action: 'retry', effect: 'none', errorName: 'NOT_ENOUGH_REPLICAS', isOldest: true },
      { action: 'retry', effect: 'maybe', errorName: 'REQUEST_TIMED_OUT', isOldest: true },
      { action: 'duplicate', effect: 'stored', errorName: 'DUPLICATE_SEQUENCE_NUMBER', isOldest: true },
    ]);
  });

  test('C11: out of order behind an earlier batch is told from out of order of the oldest', async () => {
    const outcomes: [number, boolean][] = [];
    const { producer, runtime, transport } = await bench({
      batchSize: 512,
      hooks: {
        onAttemptEnded: ({ batch }, { errorName, isOldest }) => {
          if (errorName === 'OUT_OF_ORDER_SEQUENCE_NUMBER') outcomes.push([batch.baseSequence, isOldest]);
        },
      },
    });
    watch(producer.send(record('a')));
    await runtime.settle();
    transport.only().answer();
    await runtime.settle();
    watch(producer.send(record('b'.repeat(400))));
    watch(producer.send(record('c'.repeat(400))));
    await runtime.advance(10);
    const [second, third] = transport.take();
    third!.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    await runtime.settle();
    second!.refuse('OUT_OF_ORDER_SEQUENCE_NUMBER');
    await runtime.settle();
    expect(outcomes).toEqual([
      [2, false],
      [1, true],
    ]);
  });

  test('C11: a batch that is split is heard of as its parts, and its records’ watches with them', async () => {
    const { hooks, heard } = noting();
    const splits: [BatchInfo, readonly BatchInfo[]][] = [];
    const settled: BatchInfo[] = [];
    const { producer, runtime, transport } = await bench({
      hooks: {
        ...hooks,
        onBatchSplit: (batch, parts) => splits.push([batch, parts]),
        onBatchSettled: (batch) => settled.push(batch),
      },
    });
    for (const value of ['a', 'b', 'c']) watch(producer.send(record(value)));
    await runtime.settle();
    transport.only().refuse('MESSAGE_TOO_LARGE');
    transport.onProduce = (request) => request.answer({ baseOffset: BigInt(request.batch.baseSequence) });
    await runtime.advance(1_000);
    expect(splits).toHaveLength(1);
    const [whole, parts] = splits[0]!;
    expect(parts.map(({ recordCount, baseSequence }) => [recordCount, baseSequence])).toEqual([
      [2, 0],
      [1, 2],
    ]);
    expect(settled).toEqual(parts);
    expect(settled).not.toContain(whole);
    expect(heard.get('a')).toEqual(['drained 0/0', 'drained 0/0', 'stored 0']);
    expect(heard.get('c')).toEqual(['drained 0/0', 'drained 0/2', 'stored 2']);
  });
});

describe('producers', () => {
  test('C10: each request for a producer id is told, with why and how it ended', async () => {
    const heard: unknown[] = [];
    const order: string[] = [];
    const transport = new ScriptedTransport();
    let failures = 1;
    transport.onInitProducerId = () =>
      failures-- > 0
        ? Promise.reject(new TransportError('No broker.', { sent: 'no' }))
        : Promise.resolve({ producerId: 9n, epoch: 0 });
    const runtime = createSimulatedRuntime({ seed: 7 });
    const creating = createProducer({
      transport,
      runtime,
      logger: { info: () => {}, warn: () => {} },
      hooks: {
        onProducerIdRequested: ({ reason, producer }) => heard.push([reason, producer.clientId]),
        onProducerIdAnswered: (_request, { identity, error }) => heard.push(identity?.producerId ?? error?.name),
        onProducerStarted: ({ stats }) => order.push(`started ${stats().state}`),
        onProducerClosed: () => order.push('closed'),
      },
    });
    await runtime.settle();
    expect(heard).toEqual([['start', 'sendonce'], 'TransportError']);
    await runtime.advance(1_000);
    const producer = await creating;
    expect(heard.slice(2)).toEqual([['start', 'sendonce'], 9n]);
    expect(order).toEqual(['started ready']);
    await producer.close();
    await producer.close();
    expect(order).toEqual(['started ready', 'closed']);
  });
});

describe('headers of a hook', () => {
  test.each([
    ['a Map', new Map([['a', 'b']])],
    ['fetch’s Headers', new Headers({ a: 'b' })],
    ['a Set', new Set()],
  ])('%s in their place leaves the record its own, and is counted', async (_what, headers) => {
    const { producer, runtime, transport } = await bench({
      hooks: { onRecord: () => ({ headers: headers as never }) },
    });
    watch(producer.send({ ...record('a'), headers: { own: '1' } }));
    await runtime.settle();
    expect(headersOf(transport.only())).toEqual([[['own', '1']]]);
    expect(producer.stats().hookFailures).toBe(1);
  });
});

describe('combineHooks', () => {
  test('each set hears everything, also when another throws; headers add up', async () => {
    const heard: string[] = [];
    const add = (name: string): ProducerHooks => ({
      onRecord: ({ headers = [] }) => ({
        headers: [...(headers as [string, string][]), [name, '1']],
        onDrained: () => heard.push(`${name} drained`),
        onSettled: () => heard.push(`${name} settled`),
      }),
      onBatchSettled: () => heard.push(`${name} batch`),
    });
    const boom = (): never => {
      throw new Error('boom');
    };
    const hooks = combineHooks(add('first'), { onRecord: boom, onBatchSettled: boom }, add('second'), {});
    const { producer, runtime, transport } = await bench({ hooks });
    watch(producer.send(record('a')));
    await runtime.settle();
    const request = transport.only();
    expect(headersOf(request)).toEqual([
      [
        ['first', '1'],
        ['second', '1'],
      ],
    ]);
    request.answer();
    await runtime.settle();
    expect(heard).toEqual([
      'first drained',
      'second drained',
      'first batch',
      'second batch',
      'first settled',
      'second settled',
    ]);
    expect(producer.stats().hookFailures).toBe(2);
  });

  test('headers that can’t be written are those of nobody: what the record has and others add stays', async () => {
    const hooks = combineHooks(
      { onRecord: ({ headers = [] }) => ({ headers: [...(headers as [string, string][]), ['trace', '1']] }) },
      { onRecord: () => ({ headers: new Map([['lost', '1']]) as never }) },
    );
    const { producer, runtime, transport } = await bench({ hooks });
    watch(producer.send({ ...record('a'), headers: [['own', '1']] }));
    await runtime.settle();
    expect(headersOf(transport.only())).toEqual([
      [
        ['own', '1'],
        ['trace', '1'],
      ],
    ]);
  });

  test('has no hook that none of the sets has', () => {
    expect(combineHooks({}, { onEvent: () => {} }, {})).toEqual({ onEvent: expect.any(Function) });
  });
});

describe('channelHooks', () => {
  test('publishes each hook, and a subscriber may follow a record', async () => {
    const heard: string[] = [];
    const names = [
      'started',
      'id-requested',
      'id-answered',
      'record',
      'batch-drained',
      'attempt-started',
      'attempt-ended',
      'batch-settled',
      'closed',
    ];
    const subscriptions = names.map((name) => {
      const on = (): number => heard.push(name);
      channel(`sendonce:producer:${name}`).subscribe(on);
      return () => channel(`sendonce:producer:${name}`).unsubscribe(on);
    });
    const follow = (message: unknown): void => {
      const { watches, record: sent } = message as RecordMessage;
      watches.push({ headers: [['from', String(sent.value)]], onSettled: () => heard.push('followed') });
    };
    channel('sendonce:producer:record').subscribe(follow);
    const { producer, runtime, transport } = await bench({ hooks: channelHooks() });
    watch(producer.send(record('a')));
    await runtime.settle();
    const request = transport.only();
    expect(headersOf(request)).toEqual([[['from', 'a']]]);
    request.answer();
    await runtime.settle();
    await producer.close();
    channel('sendonce:producer:record').unsubscribe(follow);
    for (const end of subscriptions) end();
    expect(heard).toEqual([
      'id-requested',
      'id-answered',
      'started',
      'record',
      'batch-drained',
      'attempt-started',
      'attempt-ended',
      'batch-settled',
      'followed',
      'closed',
    ]);
  });

  test('without subscribers nothing is published and nothing followed', async () => {
    const { producer, runtime, transport } = await bench({ hooks: channelHooks() });
    const sent = watch(producer.send(record('a')));
    await runtime.settle();
    const request = transport.only();
    expect(headersOf(request)).toEqual([[]]);
    request.answer({ errorCode: protocolErrorCodes.NONE });
    await runtime.settle();
    expect(sent.value).toBeDefined();
  });
});
