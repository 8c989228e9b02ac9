import type { TracerProvider as ApiTracerProvider, MeterProvider } from '@opentelemetry/api';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { ConfigError, createProducer } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { describe, expect, test } from 'vitest';
import { bench, inSpan, observed, useContexts, w3c, watch } from './observed.testkit.ts';
import type { TelemetryOptions } from './options.ts';
import { createTelemetry } from './telemetry.ts';

const payment = { topic: 'payments', key: 'iban-DE89370400440532013000', value: 'card 4111 1111 1111 1111' };
const boom = (): never => {
  throw new Error('boom');
};

describe('telemetry that fails', () => {
  const brokenTracer = {
    getTracer: () => ({ startSpan: boom, startActiveSpan: boom }),
  } as unknown as ApiTracerProvider;
  test.each<[string, TelemetryOptions]>([
    ['a tracer that throws', { tracerProvider: brokenTracer }],
    ['a tracer provider that throws', { tracerProvider: { getTracer: boom } }],
    ['a propagator that throws', { propagator: { inject: boom, extract: boom, fields: boom } }],
    [
      'a propagator that injects nonsense',
      {
        propagator: {
          ...w3c,
          fields: () => [],
          extract: (c) => c,
          inject: (_c, carrier, set) => set.set(carrier, 7 as never, {} as never),
        },
      },
    ],
    ['a function for keys that throws', { keyAttribute: boom }],
  ])('%s fails no send, and leaves no span open', async (_what, telemetryOptions) => {
    const { producer, runtime, tracerProvider, telemetry, cluster } = await bench({ telemetry: telemetryOptions });
    cluster.faults.loseReply();
    const sends = [payment, payment].map((record) =>
      watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(record))),
    );
    await runtime.advance(5_000);
    expect(sends.every(({ value }) => value !== undefined)).toBe(true);
    expect(producer.stats().hookFailures).toBeGreaterThan(0);
    expect(telemetry.openSpans).toBe(0);
  });

  test('a meter that throws is found when telemetry is made, not when a record is sent', () => {
    const meterProvider = { getMeter: boom } as unknown as MeterProvider;
    expect(() => createTelemetry({ meterProvider })).toThrow('boom');
  });

  test('an exporter that is down holds up nothing', async () => {
    useContexts();
    const down: SpanExporter = {
      export: (_spans, done) => done({ code: 1, error: new Error('connection refused') }),
      shutdown: async () => {},
      forceFlush: async () => {},
    };
    const tracerProvider = new TracerProvider({
      spanProcessors: [
        new BatchSpanProcessor({ exporter: down, maxQueueSize: 10, maxExportBatchSize: 5, scheduledDelayMillis: 1 }),
      ],
    });
    const telemetry = createTelemetry({ tracerProvider, propagator: w3c });
    const cluster = createMemoryCluster({ topics: { payments: {} } });
    const producer = await createProducer({ transport: cluster.transport(), hooks: telemetry.producerHooks });
    await Promise.all(Array.from({ length: 500 }, () => producer.send(payment)));
    await producer.close();
    expect(producer.stats()).toMatchObject({ recordsAcknowledged: 500, hookFailures: 0 });
    expect(telemetry.openSpans).toBe(0);
  });
});

describe('telemetry that is switched off and on', () => {
  test('disable ends what is open and stops counting; producers go on', async () => {
    const { producer, runtime, tracerProvider, telemetry, book, cluster, spans, collect } = await bench();
    cluster.faults.loseReply();
    const sent = watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(500);
    expect(telemetry.openSpans).toBe(2);
    telemetry.disable();
    expect(telemetry.openSpans).toBe(0);
    expect(spans.ended).toHaveLength(spans.started);
    await runtime.advance(5_000);
    expect(sent.value).toBeDefined();
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(100);
    expect(spans.named('send payments')).toHaveLength(1);
    telemetry.enable();
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(100);
    expect(spans.named('send payments')).toHaveLength(2);
    expect((await collect()).sum('messaging.client.sent.messages')).toBe(1);
    expect(book.size).toBe(0);
    expect(producer.stats().hookFailures).toBe(0);
    expect(spans.ended).toHaveLength(spans.started);
  });

  test('registerInstrumentations, which NodeSDK uses, hands it providers and switches it off', async () => {
    const { tracerProvider, spans } = observed();
    const telemetry = createTelemetry({ propagator: w3c });
    const unload = registerInstrumentations({ instrumentations: [telemetry], tracerProvider });
    const cluster = createMemoryCluster({ topics: { payments: {} } });
    const producer = await createProducer({ transport: cluster.transport(), hooks: telemetry.producerHooks });
    await producer.send(payment);
    expect(spans.named('send payments')).toHaveLength(1);
    unload();
    await producer.send(payment);
    expect(spans.named('send payments')).toHaveLength(1);
    expect(telemetry.getConfig()).toEqual({ enabled: false });
    await producer.close();
  });
});

describe('what is kept out', () => {
  test('keys are off by default; values and header values are never shown', async () => {
    const { producer, runtime, spans, cluster, tracerProvider } = await bench();
    cluster.faults.answerWith(87, {});
    const headers = { authorization: 'Bearer secret-token' };
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send({ ...payment, headers })));
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send({ ...payment, value: 'x'.repeat(2_000_000) })));
    await runtime.advance(5_000);
    const shown = JSON.stringify(
      spans.ended.map(({ name, attributes, events, links, status }) => ({ name, attributes, events, links, status })),
    );
    expect(spans.named('send payments')).toHaveLength(2);
    for (const secret of ['DE89370400440532013000', '4111', 'secret-token', 'xxxx'])
      expect(shown).not.toContain(secret);
  });

  test.each([
    ['text' as const, 'iban-DE89370400440532013000'],
    ['hash' as const, expect.stringMatching(/^[0-9a-f]{32}$/)],
    [(key: unknown) => String(key).slice(0, 4), 'iban'],
    [() => undefined, undefined],
    [() => 7 as never, undefined],
  ])('keyAttribute %s shows the key as asked', async (keyAttribute, shown) => {
    const { producer, runtime, spans, tracerProvider } = await bench({ telemetry: { keyAttribute } });
    watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
    await runtime.advance(100);
    expect(spans.one('send payments').attributes['kafka.message.key']).toEqual(shown);
  });

  test('a key that is not text is not shown as text', async () => {
    const { producer, runtime, spans, tracerProvider } = await bench({ telemetry: { keyAttribute: 'text' } });
    watch(
      inSpan(tracerProvider, 'POST /pay', () => producer.send({ ...payment, key: Buffer.from([0xff, 0x00, 0xfe]) })),
    );
    await runtime.advance(100);
    expect(spans.one('send payments').attributes).not.toHaveProperty('kafka.message.key');
  });

  test('thousands of topics are a hundred series and one for the rest', async () => {
    const topics = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`topic-${index}`, {}]));
    const { producer, runtime, collect } = await bench({ cluster: { topics } });
    for (const topic of Object.keys(topics)) watch(producer.send({ topic, value: '1' }));
    await runtime.advance(1_000);
    const { points, sum } = await collect();
    for (const metric of [
      'messaging.client.sent.messages',
      'sendonce.producer.queue.duration',
      'messaging.client.operation.duration',
    ]) {
      expect(points(metric).length, metric).toBeLessThanOrEqual(101);
    }
    expect(sum('messaging.client.sent.messages')).toBe(1_000);
    expect(sum('messaging.client.sent.messages', { 'messaging.destination.name': '_other' })).toBe(900);
  });
});

describe('options', () => {
  test.each<[unknown, string]>([
    [null, 'createTelemetry takes an object'],
    [{ traceProvider: {} }, 'no option traceProvider'],
    [{ tracerProvider: {} }, 'tracerProvider must be an object with getTracer'],
    [{ meterProvider: 1 }, 'meterProvider must be an object with getMeter'],
    [{ propagator: { inject() {} } }, 'propagator must be an object with inject, extract, fields'],
    [{ attemptSpans: true }, "attemptSpans must be 'on-retry' or 'always' or 'never'"],
    [{ propagate: 'yes' }, 'propagate must be true or false'],
    [{ keyAttribute: 'sha' }, 'keyAttribute must be'],
    [{ consumerParent: 'none' }, "consumerParent must be 'active' or 'producer'"],
    [{ rootSpansPerSecond: -1 }, 'rootSpansPerSecond must be a whole number from 0'],
    [{ maxTopics: 1.5 }, 'maxTopics must be a whole number from 0'],
    [{ attributeNames: 'old' }, "attributeNames must be 'current' or 'both'"],
    [{ clock: 7 }, 'clock must be a function'],
  ])('%j is a ConfigError that says what to write', (options, words) => {
    expect(() => createTelemetry(options as TelemetryOptions)).toThrow(ConfigError);
    expect(() => createTelemetry(options as TelemetryOptions)).toThrow(words);
  });

  test('the conventions’ environment variable asks for both sets of names', async () => {
    process.env.OTEL_SEMCONV_STABILITY_OPT_IN = 'http, messaging/dup';
    try {
      const { producer, runtime, spans, tracerProvider } = await bench();
      watch(inSpan(tracerProvider, 'POST /pay', () => producer.send(payment)));
      await runtime.advance(100);
      expect(spans.one('send payments').attributes['messaging.system']).toBe('kafka');
    } finally {
      delete process.env.OTEL_SEMCONV_STABILITY_OPT_IN;
    }
  });
});
