import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import type { DedupHooks } from '@sendonce/consumer-dedup';
import type { ProducerHooks } from '@sendonce/producer-core';
import { warnOfApiCopies } from './api-copies.ts';
import { attributeNaming } from './attributes.ts';
import { Clock } from './clock.ts';
import { createDedupHooks } from './consumer/dedup-hooks.ts';
import { ProcessSpans } from './consumer/process-spans.ts';
import { errorTypeOf } from './error-type.ts';
import { BoundedLabel } from './metrics/bounded-label.ts';
import { Metrics } from './metrics/metrics.ts';
import { resolveOptions, type TelemetryOptions } from './options.ts';
import { BatchBook } from './producer/batch-book.ts';
import { createProducerHooks } from './producer/producer-hooks.ts';
import { ProducerMetrics } from './producer/producer-metrics.ts';
import { ProducerSpans } from './producer/producer-spans.ts';
import { HeaderPropagation } from './propagation.ts';
import { ProviderLookup } from './providers.ts';
import { instrumentationName, instrumentationVersion } from './version.ts';

/** What NodeSDK and `registerInstrumentations` set; there is nothing to configure this way. */
export interface TelemetryInstrumentationConfig {
  enabled?: boolean;
}

/**
 * Spans and metrics of producers and deduplicators. Pass `producerHooks` to `createProducer`, `dedupHooks` to `createDeduplicator`; one telemetry
 * serves a whole process.
 *
 * It also has the shape of an OpenTelemetry instrumentation, for NodeSDK's `instrumentations` list; that is not needed when providers are
 * registered globally.
 */
export interface Telemetry {
  /** For `createProducer({ hooks })`. */
  readonly producerHooks: ProducerHooks;
  /** For `createDeduplicator({ hooks })`. */
  readonly dedupHooks: DedupHooks;
  /** Spans that were started and not ended yet. */
  readonly openSpans: number;

  readonly instrumentationName: string;
  readonly instrumentationVersion: string;
  setTracerProvider(provider: TracerProvider): void;
  setMeterProvider(provider: MeterProvider): void;
  setConfig(config: TelemetryInstrumentationConfig): void;
  getConfig(): TelemetryInstrumentationConfig;
  enable(): void;
  /** Ends every open span and stops counting. Producers and deduplicators go on as if they had no hooks. */
  disable(): void;
}

/** The parts, for tests that look inside. */
export interface TelemetryParts {
  readonly telemetry: Telemetry;
  readonly book: BatchBook;
}

/**
 * Needs no SDK: without one, or before it is registered, spans go nowhere and counts are kept.
 * @throws {ConfigError} naming the option that is wrong.
 */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  return assembleTelemetry(options).telemetry;
}

export function assembleTelemetry(telemetryOptions: TelemetryOptions): TelemetryParts {
  const options = resolveOptions(telemetryOptions);
  const providers = new ProviderLookup(options);
  const named = attributeNaming(options.attributeNames);
  const clock = new Clock(options.clock);
  const topics = new BoundedLabel(options.maxTopics);
  const metrics: Metrics = new Metrics(
    () => providers.meterProvider,
    named,
    (observe) => producerMetrics.readGauges(observe),
  );
  const propagation = new HeaderPropagation(providers.propagator, () => metrics.count('propagationConflicts', 1));
  const book = new BatchBook();
  const producerMetrics = new ProducerMetrics(metrics, topics, named, clock);
  const producerSpans = new ProducerSpans({
    providers,
    propagation,
    options,
    named,
    clock,
    factsOf: (batch) => book.of(batch),
    recordSettled: (record, error) =>
      producerMetrics.recordSettled(record, error === null ? null : errorTypeOf(error, record.facts?.lastErrorType)),
  });
  const processSpans = new ProcessSpans({ providers, propagation, options, named, clock });
  let isEnabled = true;
  const refresh = (): void => {
    if (!isEnabled) return;
    warnOfApiCopies();
    metrics.refresh();
    propagation.refresh();
  };
  refresh();

  const telemetry: Telemetry = {
    producerHooks: createProducerHooks({
      book,
      spans: producerSpans,
      metrics: producerMetrics,
      rootSpansPerSecond: options.rootSpansPerSecond,
      refresh,
      isEnabled: () => isEnabled,
    }),
    dedupHooks: createDedupHooks({
      spans: processSpans,
      metrics,
      topics,
      named,
      refresh,
      isEnabled: () => isEnabled,
    }),
    get openSpans() {
      return producerSpans.open + processSpans.open;
    },
    instrumentationName,
    instrumentationVersion,
    setTracerProvider: (provider) => providers.useTracerProvider(provider),
    setMeterProvider: (provider) => {
      providers.useMeterProvider(provider);
      refresh();
    },
    setConfig: () => {},
    getConfig: () => ({ enabled: isEnabled }),
    enable() {
      isEnabled = true;
      refresh();
    },
    disable() {
      isEnabled = false;
      producerSpans.abandon(null);
      processSpans.abandon();
      metrics.unbind();
      book.clear();
    },
  };
  return { telemetry, book };
}
