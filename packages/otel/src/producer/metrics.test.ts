import { ConfigError, createProducer, ProducerClosedError } from '@sendonce/producer-core';
import { createSimulatedRuntime } from '@sendonce/producer-core/testing';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { describe, expect, test } from 'vitest';
import { bench, observed, watch } from '../observed.testkit.ts';

const payment = { topic: 'payments', value: '20.00 EUR' };
const logger = { info: () => {}, warn: () => {} };
const topic = { 'messaging.destination.name': 'payments' };

describe('what is counted of sends', () => {
  test('a retried record is sent once, put on the wire twice and retried once', async () => {
    const { producer, runtime, cluster, collect } = await bench();
    cluster.faults.loseReply();
    watch(producer.sendBatch([payment, payment, payment]));
    await runtime.advance(5_000);
    const { sum } = await collect();
    expect(sum('messaging.client.sent.messages', topic)).toBe(3);
    expect(sum('sendonce.producer.record.sends', topic)).toBe(6);
    expect(
      sum('sendonce.producer.record.retries', {
        ...topic,
        'error.type': 'REQUEST_TIMEOUT',
        'sendonce.retry.class': 'ambiguous',
      }),
    ).toBe(3);
    expect(sum('sendonce.producer.record.errors')).toBe(0);
    expect(
      sum('sendonce.producer.batch.attempts', { 'sendonce.attempt.outcome': 'failed', 'sendonce.resend': 'false' }),
    ).toBe(1);
    expect(
      sum('sendonce.producer.batch.attempts', { 'sendonce.attempt.outcome': 'stored', 'sendonce.resend': 'true' }),
    ).toBe(1);
    expect(sum('sendonce.producer.duplicates', { 'sendonce.duplicate': 'possible' })).toBe(3);
    expect(sum('sendonce.producer.duplicates', { 'sendonce.duplicate': 'confirmed' })).toBe(0);
  });

  test('times and sizes are measured: of each record its send, of each batch its wait, its attempts and what is in it', async () => {
    const { producer, runtime, collect } = await bench();
    watch(producer.sendBatch([payment, payment]));
    await runtime.advance(100);
    const { sum, points } = await collect();
    expect(sum('messaging.client.operation.duration', { ...topic, 'messaging.operation.name': 'send' })).toBe(2);
    for (const [metric, most] of [
      ['sendonce.producer.attempt.duration', 1],
      ['sendonce.producer.queue.duration', 1],
      ['sendonce.producer.batch.size', 500],
    ] as const) {
      const [point] = points(metric);
      expect(point!.value, metric).toMatchObject({ count: 1 });
      expect((point!.value as { sum: number }).sum, metric).toBeLessThan(most);
    }
    expect(points('sendonce.producer.batch.records')[0]!.value).toMatchObject({ count: 1, sum: 2 });
    expect(points('sendonce.producer.batch.attempt_count')[0]!.value).toMatchObject({ count: 1, sum: 1 });
  });

  test('records that fail are sent messages with an error, and errors with their fate', async () => {
    const { producer, runtime, cluster, collect } = await bench({ producer: { deliveryTimeoutMs: 2_500 } });
    cluster.faults.loseRequest({ times: Number.POSITIVE_INFINITY });
    watch(producer.send(payment));
    await runtime.advance(4_000);
    const { sum } = await collect();
    expect(sum('messaging.client.sent.messages', { ...topic, 'error.type': 'DELIVERY_TIMEOUT' })).toBe(1);
    expect(
      sum('sendonce.producer.record.errors', { 'error.type': 'DELIVERY_TIMEOUT', 'sendonce.fate': 'unknown' }),
    ).toBe(1);
    expect(sum('sendonce.producer.resolutions', { 'sendonce.reason': 'delivery-timeout' })).toBe(1);
  });

  test('records that got into no batch are counted too', async () => {
    const { producer, runtime, collect } = await bench({
      producer: { bufferMemory: 4_096, maxRequestSize: 4_096, batchSize: 4_096 },
    });
    watch(Promise.resolve(producer.partitionFor(payment)));
    await runtime.advance(10);
    watch(producer.send({ ...payment, value: 'x'.repeat(3_900) }));
    expect(() => producer.enqueue({ ...payment, value: 'x'.repeat(3_900) })).toThrow('bufferMemory');
    expect(() => producer.enqueue({ topic: 7, value: '' } as never)).toThrow(ConfigError);
    await runtime.advance(100);
    const closing = producer.close();
    await runtime.advance(1_000);
    await closing;
    expect(() => producer.enqueue(payment)).toThrow(ProducerClosedError);
    const { sum } = await collect();
    expect(sum('sendonce.producer.buffer.rejected', topic)).toBe(1);
    for (const [errorType, count] of [
      ['BUFFER_FULL', 1],
      ['CONFIG', 1],
      ['PRODUCER_CLOSED', 1],
    ] as const) {
      expect(sum('messaging.client.sent.messages', { 'error.type': errorType }), errorType).toBe(count);
      expect(sum('sendonce.producer.record.errors', { 'error.type': errorType, 'sendonce.fate': 'not-stored' })).toBe(
        count,
      );
    }
  });

  test('C11: identity and sequence trouble is counted by what it is', async () => {
    const { producer, runtime, cluster, collect } = await bench();
    watch(producer.send(payment));
    await runtime.advance(100);
    cluster.faults.answerWith(45, { times: 2 });
    watch(producer.send(payment));
    await runtime.advance(5_000);
    const { sum } = await collect();
    expect(
      sum('sendonce.producer.sequence.errors', {
        'error.type': 'OUT_OF_ORDER_SEQUENCE_NUMBER',
        'sendonce.cascade': 'false',
      }),
    ).toBe(2);
    expect(sum('sendonce.producer.epoch.bumps', { 'sendonce.reason': 'out-of-order' })).toBe(1);
    expect(sum('sendonce.producer.data_loss.suspected', topic)).toBe(1);
    expect(sum('sendonce.producer.id.assignments', { 'sendonce.reason': 'start' })).toBe(1);
  });

  test('C11: out of order behind an earlier failure is a cascade', async () => {
    const { producer, runtime, cluster, collect } = await bench({ producer: { batchSize: 512 } });
    watch(producer.send(payment));
    await runtime.advance(100);
    cluster.faults.loseRequest();
    for (let index = 0; index < 3; index++) watch(producer.send({ ...payment, value: 'x'.repeat(400) }));
    await runtime.advance(5_000);
    const { sum } = await collect();
    expect(sum('sendonce.producer.sequence.errors', { 'sendonce.cascade': 'true' })).toBe(1);
    expect(sum('sendonce.producer.sequence.errors', { 'sendonce.cascade': 'false' })).toBe(0);
    expect(sum('sendonce.producer.record.retries', { 'sendonce.retry.class': 'cascade' })).toBe(1);
    expect(sum('sendonce.producer.record.retries', { 'sendonce.retry.class': 'ambiguous' })).toBe(1);
    expect(sum('sendonce.producer.epoch.bumps')).toBe(0);
  });

  test('a repeat answered with an earlier offset than a later batch’s is a confirmed duplicate', async () => {
    const { producer, runtime, cluster, collect } = await bench({ producer: { batchSize: 512 } });
    watch(producer.send(payment));
    await runtime.advance(100);
    cluster.faults.loseReply();
    for (let index = 0; index < 3; index++) watch(producer.send({ ...payment, value: 'x'.repeat(400) }));
    await runtime.advance(5_000);
    const { sum } = await collect();
    expect(
      sum('sendonce.producer.duplicates', {
        'sendonce.duplicate': 'confirmed',
        'sendonce.duplicate.evidence': 'earlier-offset',
      }),
    ).toBe(1);
  });

  test('a repeat of what the same leader appended without its replicas is a confirmed duplicate', async () => {
    const { producer, runtime, cluster, collect } = await bench();
    cluster.faults.answerWith(20, {}, { when: 'after' }); // NOT_ENOUGH_REPLICAS_AFTER_APPEND
    watch(producer.send(payment));
    await runtime.advance(5_000);
    const { sum } = await collect();
    expect(sum('sendonce.producer.duplicates', { 'sendonce.duplicate.evidence': 'after-append' })).toBe(1);
    expect(sum('sendonce.producer.record.retries', { 'sendonce.retry.class': 'after-append' })).toBe(1);
  });

  test('a first attempt that is stored is no duplicate, and neither is a retry after a certain refusal', async () => {
    const { producer, runtime, cluster, collect } = await bench();
    cluster.faults.answerWith(19, {}); // NOT_ENOUGH_REPLICAS
    watch(producer.send(payment));
    await runtime.advance(5_000);
    const { sum } = await collect();
    expect(sum('sendonce.producer.record.retries', { 'sendonce.retry.class': 'availability' })).toBe(1);
    expect(sum('sendonce.producer.duplicates')).toBe(0);
  });
});

describe('what is counted of producers', () => {
  test('producers that live and those that were created; buffers and requests of now, by client id', async () => {
    const { producer, runtime, cluster, collect, telemetry } = await bench();
    const second = createProducer({
      transport: cluster.transport(),
      runtime,
      clientId: 'payments-api',
      logger,
      hooks: telemetry.producerHooks,
    });
    const third = createProducer({
      transport: cluster.transport(),
      runtime,
      clientId: 'ledger',
      logger,
      hooks: telemetry.producerHooks,
    });
    await runtime.advance(100);
    const api = { 'messaging.client.id': 'payments-api' };
    cluster.faults.loseReply();
    watch(producer.send(payment));
    await runtime.advance(10);
    let { sum } = await collect();
    expect(sum('sendonce.producer.created')).toBe(3);
    expect(sum('sendonce.producer.active', api)).toBe(2);
    expect(sum('sendonce.producer.active')).toBe(3);
    expect(sum('sendonce.producer.buffer.limit', api)).toBe(2 * 33_554_432);
    expect(sum('sendonce.producer.buffer.available', api)).toBe(2 * 33_554_432 - producer.stats().bufferUsedBytes);
    expect(producer.stats().bufferUsedBytes).toBeGreaterThan(0);
    expect(sum('sendonce.producer.request.inflight', api)).toBe(1);
    expect(sum('sendonce.producer.record.pending', api)).toBe(1);
    await runtime.advance(5_000);
    for (const one of [second, third]) {
      const closing = (await one).close();
      await runtime.advance(1_000);
      await closing;
    }
    ({ sum } = await collect());
    expect(sum('sendonce.producer.active')).toBe(1);
    expect(sum('sendonce.producer.created')).toBe(3);
  });

  test('a producer id that could not be had is counted by its error', async () => {
    const { telemetry, collect } = observed();
    const runtime = createSimulatedRuntime({ seed: 1 });
    const cluster = createMemoryCluster({ runtime, producerIdBlockDelayMs: 300 });
    const creating = createProducer({
      transport: cluster.transport(),
      runtime,
      logger,
      hooks: telemetry.producerHooks,
    });
    await runtime.advance(2_000);
    await creating;
    const { sum } = await collect();
    expect(sum('sendonce.producer.id.failures', { 'error.type': 'COORDINATOR_LOAD_IN_PROGRESS' })).toBeGreaterThan(0);
    expect(sum('sendonce.producer.id.assignments')).toBe(1);
  });
});
