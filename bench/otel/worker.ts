import { parseArgs } from 'node:util';
import { context, metrics, propagation, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOnSampler,
  NoopSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { createTelemetry } from '@sendonce/otel';
import { createProducer, type Producer } from '@sendonce/producer-core';
import { immediateTransport } from './immediate-transport.ts';
import { bare, type Setting } from './settings.ts';

/** One measurement in a process of its own, so that none is compiled by what another one did. Prints one line of JSON. */
const { values } = parseArgs({
  options: {
    setting: { type: 'string', default: 'none' },
    callers: { type: 'string', default: '2000' },
    records: { type: 'string', default: '1000000' },
    brokers: { type: 'string' },
    topic: { type: 'string', default: 'bench' },
  },
});
const setting = values.setting as Setting;
const callers = Number(values.callers);
const value = 'x'.repeat(100);
const { topic } = values;

/** The application's part: a context around each record that is sent in a request. */
const traces = 4_096;
const oneInRequests: Partial<Record<Setting, number>> = { requests: 100, 'requests-1%': 100, 'requests-all': 1 };
const oneIn = oneInRequests[setting];
const contexts = Array.from({ length: traces }, (_, index) => {
  if (oneIn === undefined) return ROOT_CONTEXT;
  const traceFlags = index % oneIn === 0 ? TraceFlags.SAMPLED : TraceFlags.NONE;
  const id = (index + 1).toString(16);
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: id.padStart(32, '0'),
    spanId: id.padStart(16, '0'),
    traceFlags,
  });
});

const withoutSdk: ReadonlySet<Setting> = new Set(['none', 'again', 'stripped', 'no-sdk']);
if (!withoutSdk.has(setting)) {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  );
  const root = setting === 'roots-1%' ? new TraceIdRatioBasedSampler(0.01) : new AlwaysOnSampler();
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new NoopSpanProcessor()], sampler: new ParentBasedSampler({ root }) }),
  );
  const exporter = new InMemoryMetricExporter(0);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000 });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
}
const telemetry = bare.has(setting) ? null : createTelemetry();

async function transport() {
  if (values.brokers === undefined) return immediateTransport();
  const { createKafkaTransport } = await import('@sendonce/transport-kafka');
  return createKafkaTransport({ brokers: values.brokers.split(','), clientId: 'bench' });
}

const producer: Producer = await createProducer({
  transport: await transport(),
  ...(telemetry === null ? {} : { hooks: telemetry.producerHooks }),
});

let next = 0;

const sendHere = (): Promise<unknown> => {
  next++;
  return producer.send({ topic, value });
};
/** Each record in a trace of its own: a request of the application. */
const sendInRequest = (): Promise<unknown> => context.with(contexts[next % traces]!, sendHere);
const sendOne = oneIn === undefined ? sendHere : sendInRequest;

async function run(count: number): Promise<void> {
  const end = next + count;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < end) await sendOne();
    }),
  );
}

// Counted in records, not in seconds: on a busy machine half a second is not enough to have everything compiled that is rarely run.
const records = Number(values.records);
await run(records);
const startedMs = performance.now();
const cpu = process.cpuUsage();
await run(records);
const { user, system } = process.cpuUsage(cpu);
const elapsedMs = performance.now() - startedMs;
console.log(
  JSON.stringify({
    recordsPerSecond: (records / elapsedMs) * 1_000,
    cpuNsPerRecord: ((user + system) / records) * 1_000,
    hookFailures: producer.stats().hookFailures,
  }),
);
process.exit(0);
