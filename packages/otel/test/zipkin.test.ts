import { ZipkinExporter } from '@opentelemetry/exporter-zipkin';
import { startZipkin, type Zipkin, type ZipkinSpan } from '@sendonce/test-services/observability';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PaymentStory, playPaymentStory } from './payment-story.ts';

let zipkin: Zipkin;
let story: PaymentStory;
let spans: readonly ZipkinSpan[];

beforeAll(async () => {
  zipkin = await startZipkin();
  story = await playPaymentStory(new ZipkinExporter({ url: zipkin.spansUrl }), 'payments-api');
  // Zipkin indexes what it was sent a moment later.
  spans = await eventually(
    () => zipkin.trace(story.traceId),
    ({ length }) => length === 8,
  );
});
afterAll(() => zipkin?.close());

async function eventually<T>(look: () => Promise<T>, isThere: (value: T) => boolean): Promise<T> {
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    const value = await look();
    if (isThere(value) || performance.now() > deadlineMs) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const named = (name: string): ZipkinSpan[] =>
  spans.filter((span) => span.name === name).toSorted((a, b) => a.timestamp - b.timestamp);

describe('Zipkin shows a payment from the request to the ledger', () => {
  test('as one tree: request, send, produce, three attempts, process, and the work in the handler', () => {
    const parentOf = new Map(spans.map(({ id, parentId }) => [id, spans.find((span) => span.id === parentId)?.name]));
    expect(spans.map(({ id, name }) => [name, parentOf.get(id)]).toSorted()).toEqual(
      [
        ['post /payments', undefined],
        ['send payments', 'post /payments'],
        ['produce payments', 'send payments'],
        ['attempt payments', 'produce payments'],
        ['attempt payments', 'produce payments'],
        ['attempt payments', 'produce payments'],
        ['process payments', 'send payments'],
        ['insert entries', 'process payments'],
      ].toSorted(),
    );
  });

  test('with two red attempts and a third that is not', () => {
    expect(
      named('attempt payments').map(({ tags }) => [tags?.['sendonce.attempt'], tags?.['error.type'], tags?.error]),
    ).toEqual([
      ['1', 'NOT_LEADER_OR_FOLLOWER', expect.anything()],
      ['2', 'REQUEST_TIMEOUT', expect.anything()],
      ['3', undefined, undefined],
    ]);
    for (const name of ['send payments', 'produce payments']) expect(named(name)[0]!.tags).not.toHaveProperty('error');
  });

  test('with the time each attempt took, one after the other, and the pauses between them', () => {
    const attempts = named('attempt payments');
    const [, second] = attempts;
    expect(second!.duration).toBeGreaterThanOrEqual(190_000);
    for (const [index, attempt] of attempts.slice(1).entries()) {
      const before = attempts[index]!;
      expect(attempt.timestamp).toBeGreaterThanOrEqual(before.timestamp + before.duration);
    }
    const [produce] = named('produce payments');
    const [send] = named('send payments');
    expect(send!.duration).toBeGreaterThanOrEqual(produce!.duration);
    expect(produce!.duration).toBeGreaterThan(second!.duration);
  });

  test('with where it went, how often it was sent and what the ledger made of it', () => {
    expect(named('send payments')[0]!.tags).toMatchObject({
      'messaging.destination.name': 'payments',
      'messaging.destination.partition.id': '0',
      'kafka.offset': String(story.place.offset),
      'sendonce.attempts': '3',
      'sendonce.retried': 'true',
      'sendonce.duplicate': 'possible',
    });
    expect(named('process payments')[0]!.tags).toMatchObject({
      'sendonce.dedup.outcome': 'processed',
      'sendonce.dedup.namespace': 'ledger',
    });
  });

  test('and finds it by what happened', async () => {
    for (const annotationQuery of [
      'error.type=REQUEST_TIMEOUT',
      'sendonce.attempts=3',
      'sendonce.retried=true',
      'sendonce.retry.class=leadership',
    ]) {
      const found = await zipkin.traces({ serviceName: 'payments-api', annotationQuery });
      expect(
        found.map(([span]) => span!.traceId),
        annotationQuery,
      ).toEqual([story.traceId]);
    }
    const duplicates = await zipkin.traces({ annotationQuery: 'sendonce.dedup.outcome=duplicate' });
    expect(duplicates).toHaveLength(1);
    expect(duplicates[0]![0]!.traceId).not.toBe(story.traceId);
  });
});
