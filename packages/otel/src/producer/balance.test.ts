import { createProducer } from '@sendonce/producer-core';
import { createSimulatedRuntime } from '@sendonce/producer-core/testing';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { describe, expect, test } from 'vitest';
import { inSpan, isChildOf, observed, watch } from '../observed.testkit.ts';

const records = 400;

/** A storm of every fault, with leaders that die and a close in the middle of it. */
async function storm(seed: number) {
  const all = observed({ attemptSpans: seed % 2 === 0 ? 'always' : 'on-retry' });
  const runtime = createSimulatedRuntime({ seed });
  const cluster = createMemoryCluster({
    runtime,
    brokers: 3,
    topics: { payments: { partitions: 3 } },
    profile: seed % 3 === 0 ? 'kafka-4' : 'tutorial',
    latencyMs: { minMs: 0, maxMs: 20 },
  });
  const creating = createProducer({
    transport: cluster.transport(),
    runtime,
    requestTimeoutMs: 300,
    deliveryTimeoutMs: seed % 4 === 0 ? 800 : 3_000,
    batchSize: 1_024,
    logger: { info: () => {}, warn: () => {} },
    hooks: all.telemetry.producerHooks,
  });
  await runtime.advance(1_000);
  const producer = await creating;
  cluster.faults.rates({
    loseRequest: 0.05,
    loseReply: 0.05,
    duplicate: 0.02,
    resetBefore: 0.02,
    resetAfter: 0.02,
    delayRequest: 0.1,
  });
  let accepted = 0;
  let refused = 0;
  for (let index = 0; index < records; index++) {
    inSpan(all.tracerProvider, 'request', () => {
      const record = { topic: 'payments', key: String(index), value: 'x'.repeat(index % 400) };
      if (index % 3 === 0) watch(producer.send(record));
      else if (index % 3 === 1) producer.enqueue(record, () => {});
      else watch(producer.sendBatch([record, record]));
    });
    accepted += index % 3 === 2 ? 2 : 1;
    if (index % 50 === 25) cluster.broker(1 + Math.floor(runtime.random() * 3)).restart();
    if (index % 100 === 60) cluster.faults.answerWith(runtime.random() < 0.5 ? 10 : 45);
    await runtime.advance(runtime.random() * 20);
  }
  const closing = producer.close({ timeoutMs: seed % 5 === 0 ? 50 : 10_000 });
  await runtime.advance(20_000);
  await closing;
  expect(() => producer.enqueue({ topic: 'payments', value: '' })).toThrow();
  refused++;
  await runtime.advance(20_000);
  return { ...all, producer, accepted, refused };
}

describe('what telemetry says adds up', () => {
  test.each(Array.from({ length: 12 }, (_, seed) => seed))(
    'seed %i: through a storm, every span that starts ends, and every record is counted once',
    async (seed) => {
      const { spans, telemetry, book, producer, collect, accepted, refused } = await storm(seed);
      const stats = producer.stats();
      expect(stats.hookFailures).toBe(0);
      expect(spans.ended).toHaveLength(spans.started);
      expect(telemetry.openSpans).toBe(0);
      expect(book.size).toBe(0);
      expect(spans.named('send payments')).toHaveLength(accepted);
      const ids = new Map(spans.ended.map((span) => [span.spanContext().spanId, span]));
      for (const attempt of spans.named('attempt payments')) {
        const batch = ids.get(attempt.parentSpanContext!.spanId)!;
        expect(batch.name).toBe('produce payments');
        expect(isChildOf(batch, ids.get(batch.parentSpanContext!.spanId)!)).toBe(true);
      }

      const { sum } = await collect();
      const failed = stats.recordsNotStored + stats.recordsUnknown;
      expect(sum('messaging.client.sent.messages')).toBe(accepted + refused);
      expect(sum('messaging.client.sent.messages')).toBe(
        stats.recordsAcknowledged + sum('sendonce.producer.record.errors'),
      );
      expect(sum('sendonce.producer.record.errors')).toBe(failed + refused);
      expect(sum('sendonce.producer.record.errors', { 'sendonce.fate': 'unknown' })).toBe(stats.recordsUnknown);
      expect(sum('sendonce.producer.batch.attempts')).toBe(stats.attempts);
      expect(sum('sendonce.producer.batch.splits')).toBe(stats.splits);
      expect(sum('sendonce.producer.epoch.bumps')).toBe(stats.epochBumps);
      expect(sum('sendonce.producer.resolutions')).toBe(stats.resolutions);
      expect(sum('sendonce.producer.active')).toBe(0);
      if (seed === 1) expect(sum('sendonce.producer.record.retries')).toBeGreaterThan(0);
    },
  );
});
