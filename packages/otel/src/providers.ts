import {
  type MeterProvider,
  metrics,
  propagation,
  type TextMapPropagator,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { schemaUrl } from './semconv.ts';
import { instrumentationName, instrumentationVersion } from './version.ts';

export interface Providers {
  readonly tracerProvider?: TracerProvider | undefined;
  readonly meterProvider?: MeterProvider | undefined;
  readonly propagator?: TextMapPropagator | undefined;
}

/** The given providers, or those registered globally at the moment of use: it does not matter whether the SDK starts before or after us. */
export class ProviderLookup {
  #tracerProvider: TracerProvider | undefined;
  #meterProvider: MeterProvider | undefined;
  readonly propagator: TextMapPropagator;
  #tracer: Tracer | null = null;
  #tracerOf: TracerProvider | null = null;

  constructor({ tracerProvider, meterProvider, propagator }: Providers) {
    this.#tracerProvider = tracerProvider;
    this.#meterProvider = meterProvider;
    // The API object hands each call to the propagator that is registered then.
    this.propagator = propagator ?? propagation;
  }

  get tracer(): Tracer {
    const provider = this.#tracerProvider ?? trace.getTracerProvider();
    if (this.#tracer === null || this.#tracerOf !== provider) {
      this.#tracer = provider.getTracer(instrumentationName, instrumentationVersion, { schemaUrl });
      this.#tracerOf = provider;
    }
    return this.#tracer;
  }

  get meterProvider(): MeterProvider {
    return this.#meterProvider ?? metrics.getMeterProvider();
  }

  useTracerProvider(provider: TracerProvider): void {
    this.#tracerProvider = provider;
  }

  useMeterProvider(provider: MeterProvider): void {
    this.#meterProvider = provider;
  }
}
