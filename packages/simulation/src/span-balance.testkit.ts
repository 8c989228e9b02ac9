import { type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { createTelemetry, type Telemetry } from '@sendonce/otel';
import { combineHooks, type ProducerInfo } from '@sendonce/producer-core';
import type { Violation } from './evidence.ts';
import type { Session } from './ledger.ts';
import type { SeedWatch } from './run-seed.ts';

interface Observed {
  readonly session: Session;
  readonly telemetry: Telemetry;
  producer: ProducerInfo | null;
}

/** Counts spans of producers that have telemetry on, each record and each attempt with a span of its own. */
export class SpanBalance {
  readonly #openNames = new Map<string, string>();
  readonly #tracerProvider: TracerProvider;
  started = 0;
  ended = 0;

  constructor() {
    const processor: SpanProcessor = {
      onStart: (span) => {
        this.started++;
        this.#openNames.set(span.spanContext().spanId, span.name);
      },
      onEnd: (span) => {
        this.ended++;
        this.#openNames.delete(span.spanContext().spanId);
      },
      forceFlush: async () => {},
      shutdown: async () => {},
    };
    this.#tracerProvider = new TracerProvider({ spanProcessors: [processor] });
  }

  /** For one seed. */
  watch(): SeedWatch {
    const all: Observed[] = [];
    return {
      hooksFor: (session) => {
        const telemetry = createTelemetry({
          tracerProvider: this.#tracerProvider,
          attemptSpans: session.id % 2 === 0 ? 'always' : 'on-retry',
          rootSpansPerSecond: Number.MAX_SAFE_INTEGER,
        });
        const observed: Observed = { session, telemetry, producer: null };
        all.push(observed);
        const known = (producer: ProducerInfo): void => {
          observed.producer = producer;
        };
        return combineHooks({ onProducerStarted: known }, telemetry.producerHooks);
      },
      violations: () => all.flatMap((observed) => this.#violationsOf(observed)).concat(this.#unbalanced()),
    };
  }

  #violationsOf({ session, telemetry, producer }: Observed): Violation[] {
    const found: Violation[] = [];
    // A process that died ended nothing; who goes on without it switches its telemetry off.
    if (session.crashed) telemetry.disable();
    else if (telemetry.openSpans > 0) {
      found.push({
        property: 'a producer that is closed leaves no span open',
        message: `session ${session.id}: ${telemetry.openSpans} of ${[...this.#openNames.values()].join(', ')}`,
      });
    }
    const failures = producer?.stats().hookFailures ?? 0;
    if (failures > 0) {
      found.push({ property: 'no hook of telemetry throws', message: `session ${session.id}: ${failures} did` });
    }
    return found;
  }

  #unbalanced(): Violation[] {
    if (this.started === this.ended && this.#openNames.size === 0) return [];
    const message = `${this.started} started, ${this.ended} ended; open: ${[...this.#openNames.values()].join(', ')}`;
    this.#openNames.clear();
    this.started = this.ended;
    return [{ property: 'every span that starts ends, once', message }];
  }
}
