import { type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { createTelemetry } from '@sendonce/otel';
import type { ProducerHooks } from '@sendonce/producer-core';

export interface SpanCount {
  /** For the producer in the storm. */
  readonly hooks: ProducerHooks;
  readonly started: number;
  readonly ended: number;
  /** By the span's first word: `send`, `produce`, `attempt`, `init_producer_id`. */
  readonly byName: ReadonlyMap<string, number>;
}

/** Telemetry with a span for each record and each attempt, which it only counts. */
export function countSpans(): SpanCount {
  let started = 0;
  let ended = 0;
  const byName = new Map<string, number>();
  const processor: SpanProcessor = {
    onStart: () => {
      started++;
    },
    onEnd: ({ name }) => {
      ended++;
      const word = name.split(' ')[0]!;
      byName.set(word, (byName.get(word) ?? 0) + 1);
    },
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const telemetry = createTelemetry({
    tracerProvider: new TracerProvider({ spanProcessors: [processor] }),
    attemptSpans: 'always',
    rootSpansPerSecond: Number.MAX_SAFE_INTEGER,
  });
  return {
    hooks: telemetry.producerHooks,
    get started() {
      return started;
    },
    get ended() {
      return ended;
    },
    byName,
  };
}
