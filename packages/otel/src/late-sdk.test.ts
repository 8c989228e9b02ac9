import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { createProducer } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { collectFrom, PulledReader, SpanKeeper, useContexts, w3c } from './observed.testkit.ts';
import { createTelemetry } from './telemetry.ts';

const forgetSdk = (): void => {
  for (const api of [context, metrics, propagation, trace]) api.disable();
};
beforeEach(forgetSdk);
afterEach(forgetSdk);

function register() {
  const spans = new SpanKeeper();
  const reader = new PulledReader();
  useContexts();
  propagation.setGlobalPropagator(w3c);
  const tracerProvider = new TracerProvider({ spanProcessors: [spans] });
  const meterProvider = new MeterProvider({ readers: [reader] });
  trace.setGlobalTracerProvider(tracerProvider);
  metrics.setGlobalMeterProvider(meterProvider);
  return { spans, reader, tracerProvider, meterProvider };
}

async function startProducer() {
  const telemetry = createTelemetry();
  const cluster = createMemoryCluster({ topics: { payments: {} } });
  const producer = await createProducer({ transport: cluster.transport(), hooks: telemetry.producerHooks });
  const send = () => producer.send({ topic: 'payments', value: '1' });
  return { telemetry, cluster, producer, send };
}

describe('an SDK that comes, goes, or never was', () => {
  test('without an SDK everything works, and headers stay as they were', async () => {
    const { cluster, producer, send } = await startProducer();
    await Promise.all(Array.from({ length: 100 }, send));
    await producer.close();
    expect(producer.stats()).toMatchObject({ recordsAcknowledged: 100, hookFailures: 0 });
    const { value } = await cluster
      .consumer({ groupId: 'g', topics: ['payments'] })
      [Symbol.asyncIterator]()
      .next();
    expect(value!.headers).toEqual([]);
  });

  test('one that is registered late gets spans from then on, and every count from before', async () => {
    const { producer, send } = await startProducer();
    await send();
    await send();
    const { spans, reader } = register();
    await send();
    const { sum } = await collectFrom(reader);
    expect(sum('messaging.client.sent.messages')).toBe(3);
    expect(sum('sendonce.producer.created')).toBe(1);
    expect(spans.names().sort()).toEqual(['produce payments', 'send payments']);
    await producer.close();
  });

  test('one that is shut down while records are on their way is not missed', async () => {
    const { tracerProvider, meterProvider } = register();
    const { producer, send, telemetry } = await startProducer();
    const sends = Array.from({ length: 10 }, send);
    await tracerProvider.shutdown();
    await meterProvider.shutdown();
    await Promise.all(sends);
    await send();
    await producer.close();
    expect(producer.stats()).toMatchObject({ recordsAcknowledged: 11, hookFailures: 0 });
    expect(telemetry.openSpans).toBe(0);
  });

  test('a second SDK gets what comes after the first', async () => {
    const first = register();
    const { producer, send } = await startProducer();
    await send();
    forgetSdk();
    const second = register();
    await send();
    await producer.close();
    expect(first.spans.named('send payments')).toHaveLength(1);
    expect(second.spans.named('send payments')).toHaveLength(1);
    expect((await collectFrom(second.reader)).sum('messaging.client.sent.messages')).toBe(2);
  });
});
