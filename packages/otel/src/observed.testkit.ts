import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import { type DataPoint, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { type ReadableSpan, type Sampler, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { createProducer, type Producer, type ProducerOptions } from '@sendonce/producer-core';
import { createSimulatedRuntime, type SimulatedRuntime } from '@sendonce/producer-core/testing';
import { createMemoryCluster, type MemoryCluster, type MemoryClusterOptions } from '@sendonce/transport-memory';
import { onTestFinished } from 'vitest';
import type { TelemetryOptions } from './options.ts';
import type { BatchBook } from './producer/batch-book.ts';
import { assembleTelemetry, type Telemetry } from './telemetry.ts';

/** Keeps spans, and counts that what was started has ended. */
export class SpanKeeper implements SpanProcessor {
  readonly ended: ReadableSpan[] = [];
  started = 0;

  onStart(): void {
    this.started++;
  }

  onEnd(span: ReadableSpan): void {
    this.ended.push(span);
  }

  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}

  named(name: string): ReadableSpan[] {
    return this.ended.filter((span) => span.name === name);
  }

  one(name: string): ReadableSpan {
    const spans = this.named(name);
    if (spans.length !== 1) throw new Error(`${spans.length} spans are named ${name}, of: ${this.names()}`);
    return spans[0]!;
  }

  names(): string[] {
    return this.ended.map(({ name }) => name);
  }
}

/** Collects when it is asked to. */
export class PulledReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

export interface Collected {
  /** A counter's or gauge's sum over the points that have all of `attributes`. */
  sum(metric: string, attributes?: Attributes): number;
  points(metric: string): { readonly attributes: Attributes; readonly value: unknown }[];
  readonly names: string[];
}

export interface Observed {
  readonly telemetry: Telemetry;
  readonly book: BatchBook;
  readonly spans: SpanKeeper;
  readonly tracerProvider: TracerProvider;
  collect(): Promise<Collected>;
}

export const w3c = new CompositePropagator({
  propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
});

/** Async contexts as an SDK sets them up. Global, as the API has it. */
export function useContexts(): void {
  context.disable();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
}

/** Telemetry that keeps everything here. */
export function observed(options: TelemetryOptions = {}, sampler?: Sampler): Observed {
  useContexts();
  const spans = new SpanKeeper();
  const tracerProvider = new TracerProvider({ spanProcessors: [spans], ...(sampler === undefined ? {} : { sampler }) });
  const reader = new PulledReader();
  const meterProvider = new MeterProvider({ readers: [reader] });
  const { telemetry, book } = assembleTelemetry({ tracerProvider, meterProvider, propagator: w3c, ...options });
  return { telemetry, book, spans, tracerProvider, collect: () => collectFrom(reader) };
}

export async function collectFrom(reader: MetricReader): Promise<Collected> {
  const { resourceMetrics, errors } = await reader.collect();
  if (errors.length > 0) throw errors[0];
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  const points = (metric: string): DataPoint<unknown>[] =>
    metrics
      .filter(({ descriptor }) => descriptor.name === metric)
      .flatMap(({ dataPoints }) => dataPoints as DataPoint<unknown>[]);
  return {
    names: metrics.filter(({ dataPoints }) => dataPoints.length > 0).map(({ descriptor }) => descriptor.name),
    points,
    sum: (metric, attributes = {}) =>
      points(metric)
        .filter((point) => Object.entries(attributes).every(([name, value]) => point.attributes[name] === value))
        .reduce((sum, { value }) => sum + (typeof value === 'number' ? value : (value as { count: number }).count), 0),
  };
}

export interface Bench extends Observed {
  readonly runtime: SimulatedRuntime;
  readonly cluster: MemoryCluster;
  readonly producer: Producer;
}

/** A producer with telemetry before a memory cluster, on virtual time. */
export async function bench({
  telemetry: telemetryOptions = {},
  producer: producerOptions = {},
  cluster: clusterOptions = {},
  sampler,
}: {
  telemetry?: TelemetryOptions;
  producer?: Partial<ProducerOptions>;
  cluster?: MemoryClusterOptions;
  sampler?: Sampler;
} = {}): Promise<Bench> {
  const all = observed(telemetryOptions, sampler);
  const runtime = createSimulatedRuntime({ seed: 11 });
  const cluster = createMemoryCluster({
    runtime,
    brokers: 3,
    topics: { payments: { partitions: 1 } },
    ...clusterOptions,
  });
  const creating = createProducer({
    transport: cluster.transport(),
    runtime,
    clientId: 'payments-api',
    requestTimeoutMs: 1_000,
    deliveryTimeoutMs: 10_000,
    logger: { info: () => {}, warn: () => {} },
    hooks: all.telemetry.producerHooks,
    ...producerOptions,
  });
  await runtime.advance(100);
  const producer = await creating;
  onTestFinished(async () => {
    const closing = producer.close({ timeoutMs: 0 });
    await runtime.advance(2_000);
    await closing;
  });
  return { ...all, runtime, cluster, producer };
}

/** Runs `work` inside a span of the application, which it ends. */
export function inSpan<T>(tracerProvider: TracerProvider, name: string, work: (span: Span) => T): T {
  const span = tracerProvider.getTracer('application').startSpan(name, {}, ROOT_CONTEXT);
  try {
    return context.with(trace.setSpan(ROOT_CONTEXT, span), () => work(span));
  } finally {
    span.end();
  }
}

/** A context whose trace was not chosen to be kept. */
export function unsampledContext(traceId = '0af7651916cd43dd8448eb211c80319c'): Context {
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: 'b7ad6b7169203331', traceFlags: TraceFlags.NONE });
}

export function withBaggage(parent: Context, entries: Record<string, string>): Context {
  const baggage = propagation.createBaggage(
    Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, { value }])),
  );
  return propagation.setBaggage(parent, baggage);
}

/** The failed sends that a test expects are looked at by their promises' outcomes. */
export interface Outcome<T> {
  value?: T;
  error?: unknown;
}

export function watch<T>(promise: Promise<T>): Outcome<T> {
  const outcome: Outcome<T> = {};
  promise.then(
    (value) => {
      outcome.value = value;
    },
    (error: unknown) => {
      outcome.error = error;
    },
  );
  return outcome;
}

export const hasFailed = ({ status }: ReadableSpan): boolean => status.code === SpanStatusCode.ERROR;
export const isChildOf = (child: ReadableSpan, parent: ReadableSpan): boolean =>
  child.parentSpanContext?.spanId === parent.spanContext().spanId &&
  child.spanContext().traceId === parent.spanContext().traceId;
export const linksTo = (from: ReadableSpan, to: ReadableSpan): boolean =>
  from.links.some((link) => link.context.spanId === to.spanContext().spanId);
