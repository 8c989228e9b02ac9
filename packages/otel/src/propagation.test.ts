import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  type TextMapPropagator,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { suppressTracing, TraceState } from '@opentelemetry/core';
import type { ProducerRecord, RecordHeaders } from '@sendonce/producer-core';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { bench, inSpan, linksTo, unsampledContext, useContexts, w3c, watch, withBaggage } from './observed.testkit.ts';
import { HeaderPropagation } from './propagation.ts';

const payment = { topic: 'payments', value: '20.00 EUR' };
const traceId = '0af7651916cd43dd8448eb211c80319c';
const supplied = `00-${traceId}-b7ad6b7169203331-01`;

/** The headers that are in the log. */
async function sentHeaders(
  all: Awaited<ReturnType<typeof bench>>,
  send: () => Promise<unknown>,
): Promise<[string, string | null][]> {
  const consumer = all.cluster.consumer({ groupId: 'g', topics: ['payments'] });
  const outcome = watch(send());
  await all.runtime.advance(100);
  expect(outcome.error).toBeUndefined();
  const { value } = await consumer[Symbol.asyncIterator]().next();
  return value!.headers.map(([name, bytes]) => [String(name), bytes === null ? null : String(bytes)]);
}

describe('context in record headers', () => {
  test('a record carries its message span’s context', async () => {
    const all = await bench();
    const headers = await sentHeaders(all, () =>
      inSpan(all.tracerProvider, 'POST /pay', () => all.producer.send(payment)),
    );
    const { traceId: id, spanId } = all.spans.one('send payments').spanContext();
    expect(headers).toEqual([['traceparent', `00-${id}-${spanId}-01`]]);
  });

  test('headers of the caller keep their order and repeats, and the caller’s object is not touched', async () => {
    const all = await bench();
    const headers: RecordHeaders = Object.freeze([
      ['b', '1'],
      ['a', '2'],
      ['b', '3'],
      ['empty', null],
    ] as const);
    const record: ProducerRecord = Object.freeze({ ...payment, headers });
    const sent = await sentHeaders(all, () => inSpan(all.tracerProvider, 'POST /pay', () => all.producer.send(record)));
    expect(sent).toEqual([
      ['b', '1'],
      ['a', '2'],
      ['b', '3'],
      ['empty', null],
      ['traceparent', expect.any(String)],
    ]);
  });

  test('headers given as an object are written with their repeats', async () => {
    const all = await bench();
    const record = { ...payment, headers: { a: ['1', '2'], b: Buffer.from('3') } };
    const sent = await sentHeaders(all, () => inSpan(all.tracerProvider, 'POST /pay', () => all.producer.send(record)));
    expect(sent.slice(0, 3)).toEqual([
      ['a', '1'],
      ['a', '2'],
      ['b', '3'],
    ]);
  });

  test('in a trace that is not sampled there is no span, and the context is carried on with baggage', async () => {
    const all = await bench();
    const before = all.spans.started;
    const carried = withBaggage(unsampledContext(), { tenant: 'blue' });
    const headers = await sentHeaders(all, () => context.with(carried, () => all.producer.send(payment)));
    expect(headers).toEqual([
      ['traceparent', `00-${traceId}-b7ad6b7169203331-00`],
      ['baggage', 'tenant=blue'],
    ]);
    expect(all.spans.started).toBe(before);
  });

  test('baggage without a trace is carried too, when roots are not to be started', async () => {
    const all = await bench({ telemetry: { rootSpansPerSecond: 0 } });
    const carried = withBaggage(ROOT_CONTEXT, { tenant: 'blue' });
    const headers = await sentHeaders(all, () => context.with(carried, () => all.producer.send(payment)));
    expect(headers).toEqual([['baggage', 'tenant=blue']]);
  });

  test('propagate false: spans, and no headers', async () => {
    const all = await bench({ telemetry: { propagate: false } });
    const headers = await sentHeaders(all, () =>
      inSpan(all.tracerProvider, 'POST /pay', () => all.producer.send(payment)),
    );
    expect(headers).toEqual([]);
    expect(all.spans.named('send payments')).toHaveLength(1);
  });

  test('work that the SDK marked as its own is neither traced nor marked', async () => {
    const all = await bench();
    const before = all.spans.started;
    const suppressed = suppressTracing(
      trace.setSpan(ROOT_CONTEXT, all.tracerProvider.getTracer('t').startSpan('exporter')),
    );
    const headers = await sentHeaders(all, () => context.with(suppressed, () => all.producer.send(payment)));
    expect(headers).toEqual([]);
    expect(all.spans.started).toBe(before + 1);
  });

  test('a valid context that the caller put in is kept, and the span links to it', async () => {
    const all = await bench();
    const record = { ...payment, headers: { traceparent: supplied } };
    const headers = await sentHeaders(all, () => inSpan(all.tracerProvider, 'relay', () => all.producer.send(record)));
    expect(headers).toEqual([['traceparent', supplied]]);
    const message = all.spans.one('send payments');
    expect(message.kind).toBe(SpanKind.CLIENT);
    expect(message.spanContext().traceId).toBe(all.spans.one('relay').spanContext().traceId);
    expect(message.links.map((link) => link.context.traceId)).toEqual([traceId]);
  });

  test.each<[string, RecordHeaders]>([
    ['malformed', [['traceparent', '00-nonsense-01']]],
    ['empty', [['traceparent', '']]],
    ['null', [['traceparent', null]]],
    ['binary', [['traceparent', Buffer.from([0xff, 0xfe, 0, 0x80])]]],
    ['all zero', [['traceparent', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`]]],
    ['huge', [['traceparent', `00-${'a'.repeat(100_000)}`]]],
    [
      'repeated',
      [
        ['traceparent', supplied],
        ['traceparent', supplied.replace('b7', 'b8')],
      ],
    ],
  ])('a traceparent that is %s is replaced by a valid one', async (_what, headers) => {
    const all = await bench();
    const record = { ...payment, headers: [['own', '1'] as const, ...(headers as [string, string][])] };
    const sent = await sentHeaders(all, () => inSpan(all.tracerProvider, 'POST /pay', () => all.producer.send(record)));
    const { traceId: id, spanId } = all.spans.one('send payments').spanContext();
    expect(sent).toEqual([
      ['own', '1'],
      ['traceparent', `00-${id}-${spanId}-01`],
    ]);
    expect(linksTo(all.spans.one('send payments'), all.spans.one('POST /pay'))).toBe(false);
  });
});

describe('reading headers', () => {
  beforeEach(useContexts);
  let conflicts = 0;
  const headers = new HeaderPropagation(w3c, () => conflicts++);
  beforeEach(() => {
    conflicts = 0;
  });

  test.each([
    ['an object of text', { traceparent: supplied }],
    ['an object of buffers', { traceparent: Buffer.from(supplied) }],
    ['a map', new Map([['traceparent', supplied]])],
    ['a map with buffers for names', new Map([[Buffer.from('traceparent'), Buffer.from(supplied)]])],
    ['pairs', [['traceparent', Buffer.from(supplied)]] as [string, Buffer][]],
    ['one object per header', [{ other: 'x' }, { traceparent: supplied }]],
    [
      'twice the same',
      [
        ['traceparent', supplied],
        ['traceparent', supplied],
      ] as [string, string][],
    ],
  ])('from %s', (_what, given) => {
    expect(headers.extract(given)).toMatchObject({ traceId, traceFlags: TraceFlags.SAMPLED, isRemote: true });
    expect(conflicts).toBe(0);
  });

  test('two different contexts are none, and a conflict', () => {
    const other = supplied.replace('b7', 'b8');
    expect(
      headers.extract([
        ['traceparent', supplied],
        ['traceparent', other],
      ]),
    ).toBeNull();
    expect(conflicts).toBe(1);
  });

  test('tracestate and baggage may repeat: their parts are one list', () => {
    const read = headers.extractInto(ROOT_CONTEXT, [
      ['traceparent', supplied],
      ['tracestate', 'a=1'],
      ['tracestate', 'b=2'],
      ['baggage', 'x=1'],
      ['baggage', 'y=2'],
    ]);
    expect(trace.getSpanContext(read)!.traceState!.serialize()).toBe('a=1,b=2');
    expect(
      propagation
        .getBaggage(read)!
        .getAllEntries()
        .map(([name]) => name),
    ).toEqual(['x', 'y']);
  });

  test('what is written without asking the propagator is what it would have written', () => {
    const ours = new HeaderPropagation(w3c, () => {});
    ours.refresh();
    const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
    const id = (length: number) =>
      fc.oneof(
        { arbitrary: hex(length), weight: 5 },
        hex(length).map((text) => text.toUpperCase()),
        fc.constant('0'.repeat(length)),
        fc.string(),
      );
    const state = fc.option(fc.constant(new TraceState('a=1,b=2')), { nil: undefined });
    const spanContexts = fc.record({ traceId: id(32), spanId: id(16), traceFlags: fc.nat(3), traceState: state });
    fc.assert(
      fc.property(spanContexts, fc.boolean(), ({ traceState, ...rest }, hasBaggage) => {
        const span = trace.setSpanContext(ROOT_CONTEXT, traceState === undefined ? rest : { ...rest, traceState });
        const carried = hasBaggage ? withBaggage(span, { tenant: 'blue' }) : span;
        const expected: [string, string][] = [];
        w3c.inject(carried, expected, { set: (carrier, name, value) => void carrier.push([name, value]) });
        expect(ours.inject(undefined, carried)).toEqual(expected.length === 0 ? null : expected);
      }),
    );
  });

  test('another propagator is asked, whatever is written then', () => {
    const b3: TextMapPropagator = {
      fields: () => ['b3'],
      inject: (from, carrier, { set }) => set(carrier, 'b3', trace.getSpanContext(from)!.traceId),
      extract: (from) => from,
    };
    const ours = new HeaderPropagation(b3, () => {});
    ours.refresh();
    expect(ours.inject([['b3', 'old']], unsampledContext())).toEqual([['b3', traceId]]);
  });

  test('no bytes whatever make it throw', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.oneof(fc.constantFrom('traceparent', 'tracestate', 'baggage'), fc.string()),
            fc.oneof(fc.uint8Array(), fc.string(), fc.constant(null), fc.constant(supplied)),
          ),
        ),
        (given) => {
          const read = headers.extract(given);
          expect(read === null || trace.isSpanContextValid(read)).toBe(true);
        },
      ),
    );
  });
});
