import { context, propagation, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { createDeduplicator, memoryStore } from '@sendonce/consumer-dedup';
import { describe, expect, test } from 'vitest';
import { hasFailed, inSpan, linksTo, observed, unsampledContext, withBaggage } from '../observed.testkit.ts';
import type { TelemetryOptions } from '../options.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const producerSpanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${producerSpanId}-01`;

const message = (key: string, { headers = {}, ...more }: Record<string, unknown> = {}) => ({
  topic: 'payments',
  partition: 1,
  offset: '42',
  key: 'account-7',
  value: Buffer.from('20.00 EUR'),
  headers: { 'idempotency-key': key, traceparent, ...(headers as object) },
  ...more,
});

function bench(options: TelemetryOptions = {}) {
  const all = observed(options);
  const dedup = createDeduplicator({ store: memoryStore(), namespace: 'ledger', hooks: all.telemetry.dedupHooks });
  return { ...all, dedup };
}

describe('a process span', () => {
  test('is the child of the producer’s span, linked to it, and shows the outcome', async () => {
    const { dedup, spans } = bench();
    await dedup.process(message('a'), async () => {});
    const span = spans.one('process payments');
    expect(span.kind).toBe(SpanKind.CONSUMER);
    expect(span.parentSpanContext).toMatchObject({ traceId, spanId: producerSpanId });
    expect(span.links.map((link) => link.context.spanId)).toEqual([producerSpanId]);
    expect(hasFailed(span)).toBe(false);
    expect(span.attributes).toEqual({
      'messaging.system.name': 'kafka',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'payments',
      'messaging.destination.partition.id': '1',
      'kafka.offset': 42,
      'sendonce.dedup.outcome': 'processed',
      'sendonce.dedup.store': 'memory',
      'sendonce.dedup.namespace': 'ledger',
    });
  });

  test('surrounds the handler, with the producer’s baggage', async () => {
    const { dedup, spans } = bench();
    const seen: unknown[] = [];
    await dedup.process(message('a', { headers: { baggage: 'tenant=blue' } }), async () => {
      await Promise.resolve();
      seen.push(trace.getActiveSpan()?.spanContext().spanId, propagation.getActiveBaggage()?.getEntry('tenant')?.value);
    });
    expect(seen).toEqual([spans.one('process payments').spanContext().spanId, 'blue']);
  });

  test('of a duplicate is short, no failure, and names the record that came first', async () => {
    const { dedup, spans } = bench();
    await dedup.process(message('a'), async () => {});
    await dedup.process(message('a', { offset: '99' }), async () => {});
    const [, duplicate] = spans.named('process payments');
    expect(hasFailed(duplicate!)).toBe(false);
    expect(duplicate!.attributes).toMatchObject({
      'sendonce.dedup.outcome': 'duplicate',
      'kafka.offset': 99,
      'sendonce.dedup.first.topic': 'payments',
      'sendonce.dedup.first.partition': '1',
      'sendonce.dedup.first.offset': 42,
    });
  });

  test('of a duplicate links to the span that processed first, in whichever trace that is', async () => {
    const { dedup, spans } = bench();
    await dedup.process(message('a'), async () => {});
    const other = traceparent.replace(traceId, 'f'.repeat(32));
    await dedup.process(message('a', { headers: { traceparent: other } }), async () => {});
    await dedup.process(message('a', { value: 'other' }), async () => {});
    const [first, duplicate, conflict] = spans.named('process payments');
    for (const span of [duplicate!, conflict!]) {
      expect(linksTo(span, first!)).toBe(true);
      expect(span.links.map(({ attributes }) => attributes)).toEqual([
        { 'sendonce.link': 'creation' },
        { 'sendonce.link': 'first_processing' },
      ]);
      const { traceId: firstTraceId, spanId } = first!.spanContext();
      expect(span.attributes).toMatchObject({
        'sendonce.dedup.first.trace_id': firstTraceId,
        'sendonce.dedup.first.span_id': spanId,
      });
    }
    expect(first!.links).toHaveLength(1);
  });

  test('of a duplicate in one batch with the first links to it', async () => {
    const { dedup, spans } = bench();
    await dedup.processBatch([message('a'), message('b'), message('a')], async () => {});
    const [first, , duplicate] = spans.named('process payments');
    expect(linksTo(duplicate!, first!)).toBe(true);
  });

  test('of a duplicate has no such link when the first was not sampled, or the note is another hook’s', async () => {
    const { dedup, spans } = bench();
    await dedup.process(message('a', { headers: { traceparent: traceparent.replace(/01$/, '00') } }), async () => {});
    await dedup.process(message('a'), async () => {});
    expect(spans.one('process payments').links).toHaveLength(1);

    const store = memoryStore();
    const noting = (note: string) =>
      createDeduplicator({ store, namespace: 'ledger', hooks: { onMessage: () => ({ note }) } });
    const telemetry = observed();
    const traced = createDeduplicator({ store, namespace: 'ledger', hooks: telemetry.telemetry.dedupHooks });
    for (const note of ['run 17', `00-${'0'.repeat(32)}-${producerSpanId}-01`, `${traceparent}-more`]) {
      await noting(note).process(message(note), async () => {});
      await traced.process(message(note), async () => {});
    }
    for (const span of telemetry.spans.named('process payments')) expect(span.links).toHaveLength(1);
  });

  test('of a handler that throws has failed, with the error’s type and nothing of its message', async () => {
    const { dedup, spans } = bench();
    await dedup.process(message('a'), async () => {
      throw Object.assign(new Error('card 4111 declined'), { code: 'CARD_DECLINED' });
    });
    const span = spans.one('process payments');
    expect(hasFailed(span)).toBe(true);
    expect(span.attributes).toMatchObject({
      'error.type': 'CARD_DECLINED',
      'sendonce.dedup.outcome': 'failed',
      'sendonce.dedup.failure': 'handler',
    });
    expect(JSON.stringify([span.attributes, span.events, span.status])).not.toContain('4111');
  });

  test('inside another span is its child, with a link to the producer’s', async () => {
    const { dedup, spans, tracerProvider } = bench();
    await inSpan(tracerProvider, 'poll', () => dedup.process(message('a'), async () => {}));
    const span = spans.one('process payments');
    expect(span.parentSpanContext?.spanId).toBe(spans.one('poll').spanContext().spanId);
    expect(span.links.map((link) => link.context.spanId)).toEqual([producerSpanId]);
  });

  test('consumerParent producer: is the producer’s child also inside another span', async () => {
    const { dedup, spans, tracerProvider } = bench({ consumerParent: 'producer' });
    await inSpan(tracerProvider, 'poll', () => dedup.process(message('a'), async () => {}));
    const span = spans.one('process payments');
    expect(span.parentSpanContext?.spanId).toBe(producerSpanId);
    expect(linksTo(span, spans.one('poll'))).toBe(false);
  });

  test('of a message without context, or with a broken one, starts a trace', async () => {
    const { dedup, spans } = bench();
    await dedup.process({ ...message('a'), headers: { 'idempotency-key': 'a' } }, async () => {});
    await dedup.process(message('b', { headers: { traceparent: '00-nonsense' } }), async () => {});
    await dedup.process(message('c', { headers: { traceparent: Buffer.from([0xff, 0, 0xfe]) } }), async () => {});
    for (const span of spans.named('process payments')) {
      expect(span.parentSpanContext).toBeUndefined();
      expect(span.links).toEqual([]);
    }
  });

  test('of a message with two contexts takes none of them, and counts it', async () => {
    const { dedup, spans, collect } = bench();
    const twice = [traceparent, traceparent.replace('b7', 'b8')];
    await dedup.process(message('a', { headers: { traceparent: twice } }), async () => {});
    expect(spans.one('process payments').parentSpanContext).toBeUndefined();
    expect((await collect()).sum('sendonce.propagation.conflicts')).toBe(1);
  });

  test('there is none in a trace that is not sampled, and the handler goes on in that trace', async () => {
    const { dedup, spans } = bench();
    const seen: unknown[] = [];
    const headers = { traceparent: traceparent.replace(/01$/, '00') };
    await dedup.process(message('a', { headers }), async () => seen.push(trace.getActiveSpan()?.spanContext()));
    expect(spans.ended).toEqual([]);
    expect(seen).toMatchObject([{ traceId, traceFlags: 0 }]);
  });

  test('of each message of a batch has its own producer for a parent', async () => {
    const { dedup, spans } = bench();
    const other = traceparent.replace(traceId, 'f'.repeat(32));
    await dedup.processBatch(
      [message('a'), message('b', { headers: { traceparent: other } }), message('a')],
      async () => {},
    );
    const all = spans.named('process payments');
    expect(all.map(({ parentSpanContext }) => parentSpanContext?.traceId)).toEqual([traceId, 'f'.repeat(32), traceId]);
    expect(all.map(({ attributes }) => attributes['sendonce.dedup.outcome'])).toEqual([
      'processed',
      'processed',
      'duplicate',
    ]);
  });

  test('shows keys only when asked', async () => {
    const { dedup, spans } = bench();
    await dedup.process(message('order-17'), async () => {});
    expect(JSON.stringify(spans.one('process payments').attributes)).not.toMatch(/order-17|account-7/);
    const shown = bench({ keyAttribute: 'text' });
    await shown.dedup.process(message('order-17'), async () => {});
    expect(shown.spans.one('process payments').attributes).toMatchObject({
      'kafka.message.key': 'account-7',
      'sendonce.dedup.key': 'order-17',
    });
  });

  test('is ended when telemetry is switched off, and once', async () => {
    const { dedup, spans, telemetry } = bench();
    await dedup.process(message('a'), async () => telemetry.disable());
    expect(spans.ended).toHaveLength(1);
    expect(telemetry.openSpans).toBe(0);
    expect(spans.one('process payments').attributes['sendonce.dedup.outcome']).toBeUndefined();
  });
});

describe('what is counted of messages', () => {
  test('each by its outcome, duplicates included; store requests with their time', async () => {
    const { dedup, collect } = bench();
    await dedup.process(message('a'), async () => {});
    await dedup.process(message('a'), async () => {});
    await dedup.process(message('a', { value: 'other' }), async () => {});
    await dedup.process(message('b'), async () => {
      throw new TypeError('boom');
    });
    await dedup.process({ ...message('c'), headers: {} }, async () => {});
    const { sum } = await collect();
    expect(sum('messaging.client.consumed.messages', { 'messaging.destination.name': 'payments' })).toBe(5);
    expect(sum('messaging.client.consumed.messages', { 'error.type': 'TypeError' })).toBe(1);
    for (const [outcome, count] of Object.entries({ processed: 1, duplicate: 1, conflict: 1, failed: 2 })) {
      expect(
        sum('sendonce.consumer.dedup.messages', {
          'sendonce.dedup.outcome': outcome,
          'sendonce.dedup.namespace': 'ledger',
        }),
        outcome,
      ).toBe(count);
    }
    expect(sum('sendonce.consumer.dedup.messages', { 'sendonce.dedup.failure': 'message' })).toBe(1);
    expect(sum('messaging.process.duration', { 'sendonce.dedup.outcome': 'duplicate' })).toBe(1);
    expect(
      sum('sendonce.consumer.dedup.duration', {
        'sendonce.dedup.store': 'memory',
        'sendonce.dedup.operation': 'claim',
      }),
    ).toBe(4);
    expect(sum('sendonce.consumer.dedup.store.errors')).toBe(0);
  });

  test('a store that fails is counted by operation and error', async () => {
    const { telemetry, collect } = bench();
    const gone = Object.assign(new Error('gone'), { code: 'ECONNRESET' });
    const store = Object.assign(memoryStore(), { claim: () => Promise.reject(gone) });
    const dedup = createDeduplicator({ store, namespace: 'ledger', hooks: telemetry.dedupHooks });
    await dedup.process(message('a'), async () => {});
    const { sum } = await collect();
    expect(sum('sendonce.consumer.dedup.store.errors', { 'sendonce.dedup.operation': 'claim' })).toBe(1);
    expect(sum('sendonce.consumer.dedup.messages', { 'sendonce.dedup.failure': 'store' })).toBe(1);
  });

  test('takeovers of leases, and leases lost, are counted', async () => {
    const { telemetry, collect } = bench();
    let nowMs = 0;
    const store = memoryStore({ clock: () => nowMs });
    const options = { store, namespace: 'ledger', leaseMs: 100, hooks: telemetry.dedupHooks };
    const slow = createDeduplicator(options);
    const quick = createDeduplicator(options);
    const outcome = await slow.process(message('a'), async (_message, { signal }) => {
      nowMs += 10_000;
      await quick.process(message('a'), async () => {});
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    expect(outcome).toMatchObject({ status: 'failed', reason: 'lease-lost' });
    const { sum } = await collect();
    expect(sum('sendonce.consumer.dedup.lease.takeovers')).toBe(1);
    expect(sum('sendonce.consumer.dedup.lease.losses')).toBe(1);
  });

  test('telemetry that fails stops no message', async () => {
    const boom = (): never => {
      throw new Error('boom');
    };
    const { dedup } = bench({ propagator: { inject: boom, extract: boom, fields: boom } });
    let handled = 0;
    expect(await dedup.process(message('a'), async () => handled++)).toMatchObject({ status: 'processed' });
    expect(handled).toBe(1);
  });

  test('a context that is only active, not in the headers, is the parent', async () => {
    const { dedup, spans } = bench();
    const carried = withBaggage(unsampledContext(), { tenant: 'blue' });
    const plain = { ...message('a'), headers: { 'idempotency-key': 'a' } };
    await context.with(carried, () => dedup.process(plain, async () => {}));
    await context.with(ROOT_CONTEXT, () => dedup.process({ ...plain, offset: '43' }, async () => {}));
    expect(spans.named('process payments')).toHaveLength(1);
  });
});
