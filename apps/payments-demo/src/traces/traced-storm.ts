import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { createTelemetry } from '@sendonce/otel';
import type { ScriptItem } from '../narration/script.ts';
import { playScene } from '../scenes/stage.ts';
import { storm } from '../scenes/storm.ts';
import { type StormTraces, TraceFinder } from './trace-finder.ts';

export const serviceName = 'payments-demo';
/** The scene's clock is virtual; it shall have ended when it is looked at. */
const stormLastsMs = 120_000;
/** The scene does not let the process breathe, so everything waits here until it is over. */
const spansMax = 100_000;

export interface TracedStorm {
  readonly script: readonly ScriptItem[];
  readonly traces: StormTraces;
}

/** Plays the storm with telemetry on, every payment with a trace of its own. */
export async function playTracedStorm(seed: number, exporter: SpanExporter): Promise<TracedStorm> {
  const finder = new TraceFinder();
  const tracerProvider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    spanProcessors: [finder, new BatchSpanProcessor({ exporter, maxQueueSize: spansMax, maxExportBatchSize: 1_000 })],
  });
  const beganMs = Date.now() - stormLastsMs;
  const script = await playScene(storm, seed, (runtime) => {
    const { producerHooks, dedupHooks } = createTelemetry({
      tracerProvider,
      propagator: new W3CTraceContextPropagator(),
      rootSpansPerSecond: Number.MAX_SAFE_INTEGER,
      clock: () => beganMs + runtime.monotonicMs(),
    });
    return { producer: producerHooks, dedup: dedupHooks };
  });
  await tracerProvider.forceFlush();
  await tracerProvider.shutdown();
  return { script, traces: finder.found };
}
