import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { describe, expect, test } from 'vitest';
import { bench, hasFailed, inSpan, isChildOf, linksTo, watch } from '../observed.testkit.ts';

const payment = { topic: 'payments', key: 'account-7', value: '20.00 EUR' };

const byAttempt = (spans: readonly ReadableSpan[]): ReadableSpan[] =>
  spans.toSorted((a, b) => Number(a.attributes['sendonce.attempt']) - Number(b.attributes['sendonce.attempt']));
const eventsOf = ({ events }: ReadableSpan) => events.map(({ name, attributes }) => [name, attributes]);

describe('spans of a send', () => {
  test('a send that works at once is a message span with a batch span below it, and no attempt', async () => {
    const { producer, runtime, spans, tracerProvider } = await bench();
    const sent = watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(100);
    expect(sent.value).toBeDefined();
    const message = spans.one('send payments');
    const batch = spans.one('produce payments');
    expect(isChildOf(message, spans.one('POST /pay'))).toBe(true);
    expect(isChildOf(batch, message)).toBe(true);
    expect(spans.named('attempt payments')).toEqual([]);
    expect([message, batch].map(hasFailed)).toEqual([false, false]);
    expect(message.attributes).toEqual({
      'messaging.system.name': 'kafka',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 'payments',
      'messaging.destination.partition.id': '0',
      'messaging.client.id': 'payments-api',
      'kafka.offset': 0,
      'sendonce.attempts': 1,
      'sendonce.retried': false,
      'sendonce.duplicate': 'none',
      'sendonce.queue_ms': 0,
    });
    expect(batch.attributes).toEqual({
      'messaging.system.name': 'kafka',
      'messaging.operation.name': 'produce',
      'messaging.destination.name': 'payments',
      'messaging.destination.partition.id': '0',
      'messaging.client.id': 'payments-api',
      'messaging.batch.message_count': 1,
      'kafka.offset': 0,
      'sendonce.batch.size_bytes': expect.any(Number),
      'sendonce.producer.id': '0',
      'sendonce.producer.epoch': 0,
      'sendonce.base_sequence': 0,
      'sendonce.attempts': 1,
      'sendonce.retried': false,
      'sendonce.duplicate': 'none',
      'sendonce.queue_ms': 0,
    });
  });

  test('every attempt is a span as soon as one has failed; the send that worked in the end has not failed', async () => {
    const { producer, runtime, spans, tracerProvider, cluster } = await bench();
    cluster.faults.answerWith(6, {}); // NOT_LEADER_OR_FOLLOWER
    cluster.faults.loseReply({ nth: 2 });
    const sent = watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(5_000);
    expect(sent.value).toBeDefined();
    const message = spans.one('send payments');
    const batch = spans.one('produce payments');
    const attempts = byAttempt(spans.named('attempt payments'));
    expect(attempts.map((attempt) => isChildOf(attempt, batch))).toEqual([true, true, true]);
    expect(attempts.map(hasFailed)).toEqual([true, true, false]);
    expect([message, batch].map(hasFailed)).toEqual([false, false]);
    expect(attempts.map(({ attributes }) => attributes['error.type'])).toEqual([
      'NOT_LEADER_OR_FOLLOWER',
      'REQUEST_TIMEOUT',
      undefined,
    ]);
    expect(attempts.map(({ attributes }) => attributes['sendonce.retry.class'])).toEqual([
      'leadership',
      'ambiguous',
      undefined,
    ]);
    expect(attempts.map(({ attributes }) => attributes['sendonce.resend_count'])).toEqual([undefined, 1, 2]);
    expect(attempts.map(({ attributes }) => typeof attributes['sendonce.retry.backoff_ms'])).toEqual([
      'undefined',
      'number',
      'number',
    ]);
    for (const span of [message, batch]) {
      expect(span.attributes).toMatchObject({
        'sendonce.attempts': 3,
        'sendonce.retried': true,
        'sendonce.retry.classes': ['leadership', 'ambiguous'],
        'sendonce.duplicate': 'possible',
        'sendonce.duplicate.evidence': 'retry-after-ambiguous',
      });
      expect(span.attributes['error.type']).toBeUndefined();
    }
    expect(attempts[2]!.attributes['sendonce.duplicate']).toBe('possible');
    expect(eventsOf(batch).filter(([name]) => name === 'sendonce.retry')).toEqual([
      [
        'sendonce.retry',
        {
          'sendonce.attempt': 1,
          'error.type': 'NOT_LEADER_OR_FOLLOWER',
          'sendonce.retry.class': 'leadership',
          'sendonce.retry.backoff_ms': expect.any(Number),
        },
      ],
      [
        'sendonce.retry',
        {
          'sendonce.attempt': 2,
          'error.type': 'REQUEST_TIMEOUT',
          'sendonce.retry.class': 'ambiguous',
          'sendonce.retry.backoff_ms': expect.any(Number),
        },
      ],
    ]);
  });

  test('the first attempt’s span begins when that attempt did, although it is made when it has failed', async () => {
    const { producer, runtime, spans, tracerProvider, cluster } = await bench();
    cluster.faults.loseRequest();
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(10);
    const realMs = 20;
    await new Promise((resolve) => setTimeout(resolve, realMs));
    await runtime.advance(5_000);
    const [first] = byAttempt(spans.named('attempt payments'));
    const [seconds, nanoseconds] = first!.duration;
    expect(seconds * 1_000 + nanoseconds / 1e6).toBeGreaterThan(realMs / 2);
  });

  test.each([
    ['always', 1],
    ['on-retry', 0],
    ['never', 0],
  ] as const)('attemptSpans %s: a send that works at once has %i', async (attemptSpans, count) => {
    const { producer, runtime, spans, tracerProvider } = await bench({ telemetry: { attemptSpans } });
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(100);
    expect(spans.named('attempt payments')).toHaveLength(count);
    expect(spans.named('produce payments')).toHaveLength(1);
  });

  test('attemptSpans never: what happened is on the batch all the same', async () => {
    const { producer, runtime, spans, tracerProvider, cluster } = await bench({ telemetry: { attemptSpans: 'never' } });
    cluster.faults.loseRequest();
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(5_000);
    expect(spans.named('attempt payments')).toEqual([]);
    expect(spans.one('produce payments').attributes).toMatchObject({
      'sendonce.attempts': 2,
      'sendonce.retry.classes': ['ambiguous'],
    });
  });

  test('a send that fails for good marks message, batch and attempts with the same error', async () => {
    const { producer, runtime, spans, tracerProvider, cluster } = await bench();
    cluster.faults.answerWith(87, {}); // INVALID_RECORD
    const sent = watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(5_000);
    expect(sent.error).toMatchObject({ code: 'REFUSED' });
    const failed = ['send payments', 'produce payments', 'attempt payments'].map((name) => spans.one(name));
    expect(failed.map(hasFailed)).toEqual([true, true, true]);
    for (const { attributes } of failed) expect(attributes['error.type']).toBe('INVALID_RECORD');
    expect(failed[0]!.attributes).toMatchObject({
      'sendonce.fate': 'not-stored',
      'messaging.destination.partition.id': '0',
    });
    expect(failed[0]!.attributes['kafka.offset']).toBeUndefined();
  });

  test('C8: a delivery timeout says so, and what the last attempt met', async () => {
    const { producer, runtime, spans, tracerProvider, cluster } = await bench({
      producer: { deliveryTimeoutMs: 2_500 },
    });
    cluster.faults.loseRequest({ times: Number.POSITIVE_INFINITY });
    const sent = watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(4_000);
    expect(sent.error).toMatchObject({ code: 'DELIVERY_TIMEOUT', fate: 'unknown' });
    for (const name of ['send payments', 'produce payments']) {
      const span = spans.one(name);
      expect(hasFailed(span)).toBe(true);
      expect(span.attributes).toMatchObject({
        'error.type': 'DELIVERY_TIMEOUT',
        'sendonce.last_error.type': 'REQUEST_TIMEOUT',
        'sendonce.fate': 'unknown',
      });
    }
  });

  test('a record that is refused at the call has a span that says why', async () => {
    const { producer, spans, tracerProvider } = await bench({ producer: { maxRequestSize: 1_000 } });
    const sent = watch(
      inSpan(tracerProvider, 'POST /pay', () => producer.send({ ...payment, value: 'x'.repeat(2_000) })),
    );
    await Promise.resolve();
    expect(sent.error).toMatchObject({ code: 'RECORD_TOO_LARGE' });
    const span = spans.one('send payments');
    expect(hasFailed(span)).toBe(true);
    expect(span.attributes['error.type']).toBe('RECORD_TOO_LARGE');
  });

  test('sendBatch and enqueue have a span for each record', async () => {
    const { producer, runtime, spans, tracerProvider } = await bench();
    inSpan(tracerProvider, 'job', () => {
      watch(producer.sendBatch([payment, payment]));
      producer.enqueue(payment);
      producer.enqueue(payment, () => {});
    });
    await runtime.advance(100);
    expect(spans.named('send payments').map((span) => span.attributes['kafka.offset'])).toEqual([0, 1, 2, 3]);
    expect(spans.named('produce payments')).toHaveLength(1);
  });
});

describe('batches of several records', () => {
  test('C17: the batch is the child of its first record, linked to the others, and they to it', async () => {
    const { producer, runtime, spans, tracerProvider } = await bench();
    for (const name of ['first', 'second', 'third']) watch(inSpan(tracerProvider, name, () => producer.send(payment)));
    await runtime.advance(100);
    const [first, second, third] = ['first', 'second', 'third'].map(
      (name) => spans.named('send payments').find((message) => isChildOf(message, spans.one(name)))!,
    );
    const batch = spans.one('produce payments');
    expect(batch.attributes['messaging.batch.message_count']).toBe(3);
    expect(isChildOf(batch, first!)).toBe(true);
    expect([first, second, third].map((message) => linksTo(batch, message!))).toEqual([false, true, true]);
    expect([first, second, third].map((message) => linksTo(message!, batch))).toEqual([false, true, true]);
  });

  test('C17: a later batch is not the child of the request that sent first', async () => {
    const { producer, runtime, spans, tracerProvider } = await bench();
    watch(inSpan(tracerProvider, 'first', () => producer.send(payment)));
    await runtime.advance(1_000);
    watch(context.with(ROOT_CONTEXT, () => producer.send(payment)));
    await runtime.advance(1_000);
    const [, later] = spans.named('send payments');
    expect(later!.parentSpanContext).toBeUndefined();
    expect(spans.named('produce payments').map((batch) => batch.spanContext().traceId)).toEqual([
      spans.one('first').spanContext().traceId,
      later!.spanContext().traceId,
    ]);
  });

  test('links stay few, whatever the size of the batch', async () => {
    const { producer, runtime, spans, tracerProvider } = await bench();
    for (let index = 0; index < 200; index++) watch(inSpan(tracerProvider, 'request', () => producer.send(payment)));
    await runtime.advance(100);
    const batch = spans.one('produce payments');
    expect(batch.links).toHaveLength(64);
    expect(spans.named('send payments').filter((message) => linksTo(message, batch))).toHaveLength(199);
  });

  test('only records that are sampled are linked; without any there is no batch span', async () => {
    const { producer, runtime, spans } = await bench();
    const contextOf = (traceId: string, traceFlags: number) =>
      trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: 'b7ad6b7169203331', traceFlags });
    const low = '00000000000000000000000000000001';
    watch(context.with(contextOf('f'.repeat(32), 0), () => producer.send(payment)));
    await runtime.advance(100);
    expect(spans.ended).toHaveLength(1); // init_producer_id
    watch(context.with(contextOf('f'.repeat(32), 0), () => producer.send(payment)));
    watch(context.with(contextOf(low, 1), () => producer.send(payment)));
    await runtime.advance(100);
    const batch = spans.one('produce payments');
    expect(isChildOf(batch, spans.one('send payments'))).toBe(true);
    expect(batch.links).toEqual([]);
  });

  test('C11: a batch that is split ends as its parts, which link to it', async () => {
    const { producer, runtime, spans, tracerProvider, cluster } = await bench();
    cluster.faults.answerWith(10, {}); // MESSAGE_TOO_LARGE
    const sends = ['a', 'b', 'c'].map((value) =>
      watch(inSpan(tracerProvider, value, () => producer.send({ ...payment, value }))),
    );
    await runtime.advance(5_000);
    expect(sends.every(({ value }) => value !== undefined)).toBe(true);
    const batches = spans.named('produce payments');
    expect(batches.map(({ attributes }) => attributes['messaging.batch.message_count'])).toEqual([3, 2, 1]);
    const [whole, ...parts] = batches;
    expect(parts.map((part) => linksTo(part, whole!))).toEqual([true, true]);
    expect(eventsOf(whole!).at(-1)).toEqual(['sendonce.batch_split', { 'messaging.batch.message_count': [2, 1] }]);
    for (const message of spans.named('send payments')) {
      expect(message.attributes).toMatchObject({ 'sendonce.attempts': 2, 'sendonce.retry.classes': ['size'] });
    }
  });
});

describe('what a partition goes through', () => {
  test('C9: an epoch bump is an event of the batches that wait for it', async () => {
    const { producer, runtime, spans, tracerProvider, cluster } = await bench();
    watch(producer.send(payment));
    await runtime.advance(100);
    cluster.faults.answerWith(45, { times: 2 }); // OUT_OF_ORDER_SEQUENCE_NUMBER
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(5_000);
    const batch = spans.named('produce payments').at(-1)!;
    expect(eventsOf(batch).map(([name]) => name)).toEqual(
      expect.arrayContaining([
        'sendonce.resolving',
        'sendonce.data_loss_suspected',
        'sendonce.epoch_bump',
        'sendonce.renumbered',
      ]),
    );
    expect(eventsOf(batch).find(([name]) => name === 'sendonce.epoch_bump')![1]).toMatchObject({
      'sendonce.producer.epoch': 1,
      'sendonce.reason': 'out-of-order',
    });
    expect(batch.attributes).toMatchObject({ 'sendonce.epoch_bumps': 1, 'sendonce.retry.classes': ['identity'] });
  });

  test('a repeat that the broker recognised is confirmed, as an event and as an attribute', async () => {
    const { producer, runtime, spans, tracerProvider, cluster } = await bench();
    cluster.faults.loseReply();
    cluster.faults.answerWith(46, { nth: 2 }, { when: 'after' }); // DUPLICATE_SEQUENCE_NUMBER
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(5_000);
    const batch = spans.one('produce payments');
    expect(eventsOf(batch).at(-1)![0]).toBe('sendonce.duplicate_acknowledged');
    for (const span of [batch, spans.one('send payments')]) {
      expect(span.attributes).toMatchObject({
        'sendonce.duplicate': 'confirmed',
        'sendonce.duplicate.evidence': 'duplicate-answer',
      });
    }
  });

  test('C10: a request for a producer id is a span of its own', async () => {
    const { spans } = await bench();
    const request = spans.one('init_producer_id');
    expect(request.parentSpanContext).toBeUndefined();
    expect(request.attributes).toEqual({
      'messaging.system.name': 'kafka',
      'messaging.operation.name': 'init_producer_id',
      'messaging.client.id': 'payments-api',
      'sendonce.reason': 'start',
      'sendonce.producer.id': '0',
      'sendonce.producer.epoch': 0,
    });
  });
});

describe('names', () => {
  test('attributeNames both: the previous names beside the current ones', async () => {
    const { producer, runtime, spans, tracerProvider } = await bench({
      telemetry: { attributeNames: 'both', keyAttribute: 'text' },
    });
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send({ ...payment, value: null })));
    await runtime.advance(100);
    expect(spans.one('send payments').attributes).toMatchObject({
      'messaging.system.name': 'kafka',
      'messaging.system': 'kafka',
      'kafka.offset': 0,
      'messaging.kafka.offset': 0,
      'kafka.message.key': 'account-7',
      'messaging.kafka.message.key': 'account-7',
      'kafka.message.tombstone': true,
      'messaging.kafka.message.tombstone': true,
    });
  });
});
