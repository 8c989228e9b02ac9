import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { attributesOf, type OtlpSink, type ReceivedSpan, startOtlpSink } from './otlp-sink.ts';
import { type PaymentStory, playPaymentStory } from './payment-story.ts';

let sink: OtlpSink;
let story: PaymentStory;

beforeAll(async () => {
  sink = await startOtlpSink();
  story = await playPaymentStory(new OTLPTraceExporter({ url: sink.tracesUrl }), 'payments-api');
});
afterAll(() => sink?.close());

const named = (name: string): ReceivedSpan[] => sink.spans.filter((span) => span.name === name);
const linked = (from: ReceivedSpan, to: ReceivedSpan): boolean =>
  from.links.some(({ spanId, traceId }) => spanId === to.spanId && traceId === to.traceId);

describe('over OTLP arrives what Zipkin drops', () => {
  test('links between a batch and the records that are not its parent, both ways', () => {
    const batch = named('produce payments').find(
      (span) => attributesOf(span.attributes)['messaging.batch.message_count'] === 2,
    )!;
    const records = named('send payments').filter(({ traceId }) => traceId !== story.traceId);
    const parent = records.find(({ spanId }) => spanId === batch.parentSpanId)!;
    const other = records.find(({ spanId }) => spanId !== batch.parentSpanId)!;
    expect(linked(batch, other)).toBe(true);
    expect(linked(other, batch)).toBe(true);
    expect(attributesOf(other.links[0]!.attributes)).toEqual({ 'sendonce.link': 'batch' });
    expect(linked(batch, parent)).toBe(false);
  });

  test('links from processing to where the message was sent', () => {
    for (const process of named('process payments')) {
      const sent = named('send payments').find(({ spanId }) => spanId === process.parentSpanId)!;
      expect(linked(process, sent)).toBe(true);
    }
  });

  test('a link from a duplicate to the span that processed first', () => {
    const [first, duplicate] = named('process payments').filter(
      (span) =>
        attributesOf(span.attributes)['sendonce.dedup.outcome'] !== 'processed' || span.traceId === story.traceId,
    );
    expect(attributesOf(duplicate!.attributes)['sendonce.dedup.outcome']).toBe('duplicate');
    expect(linked(duplicate!, first!)).toBe(true);
    expect(duplicate!.traceId).not.toBe(first!.traceId);
  });

  test('what happened between attempts, with its facts', () => {
    const batch = named('produce payments').find(({ traceId }) => traceId === story.traceId)!;
    const retries = batch.events.filter(({ name }) => name === 'sendonce.retry');
    expect(retries.map(({ attributes }) => attributesOf(attributes))).toMatchObject([
      { 'sendonce.attempt': 1, 'error.type': 'NOT_LEADER_OR_FOLLOWER', 'sendonce.retry.class': 'leadership' },
      { 'sendonce.attempt': 2, 'error.type': 'REQUEST_TIMEOUT', 'sendonce.retry.class': 'ambiguous' },
    ]);
    expect(attributesOf(batch.attributes)['sendonce.retry.classes']).toEqual(['leadership', 'ambiguous']);
  });

  test('which package they come from, and which conventions they follow', () => {
    for (const span of named('send payments')) {
      expect(span.scope).toMatch(/^@sendonce\/otel@\d+\.\d+\.\d+/);
      expect(span.schemaUrl).toMatch(/^https:\/\/opentelemetry\.io\/schemas\//);
    }
  });

  test('numbers as numbers', () => {
    const sent = named('send payments').find(({ traceId }) => traceId === story.traceId)!;
    expect(attributesOf(sent.attributes)['kafka.offset']).toBe(Number(story.place.offset));
  });
});
