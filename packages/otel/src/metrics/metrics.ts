import type { Attributes, Histogram, MeterProvider, ObservableResult } from '@opentelemetry/api';
import { schemaUrl } from '../semconv.ts';
import { instrumentationName, instrumentationVersion } from '../version.ts';
import { type CounterName, counters, type GaugeName, gauges, type HistogramName, histograms } from './catalogue.ts';
import { Tally } from './tally.ts';

/** Reports the state of now. */
export type GaugeReading = (observe: (gauge: GaugeName, value: number, attributes: Attributes) => void) => void;

interface Binding {
  readonly provider: MeterProvider;
  readonly histograms: Readonly<Record<HistogramName, Histogram>>;
  readonly unbind: () => void;
}

const entries = Object.entries as <K extends string, V>(table: Readonly<Record<K, V>>) => [K, V][];

/**
 * What is measured, apart from who collects it: counts go on without an SDK, and a meter provider that is registered late, or anew,
 * gets them all.
 */
export class Metrics {
  readonly #provider: () => MeterProvider;
  readonly #readGauges: GaugeReading;
  readonly #tallies: Readonly<Record<CounterName, Tally>>;
  #binding: Binding | null = null;

  constructor(
    provider: () => MeterProvider,
    attributesOf: (attributes: Attributes) => Attributes,
    readGauges: GaugeReading,
  ) {
    this.#provider = provider;
    this.#readGauges = readGauges;
    this.#tallies = Object.fromEntries(
      entries(counters).map(([name, { labels }]) => [name, new Tally(labels, attributesOf)]),
    ) as Record<CounterName, Tally>;
  }

  /** Values in the order of the counter's labels; trailing ones may be left out. */
  count(name: CounterName, amount: number, ...values: (string | undefined)[]): void {
    this.#tallies[name].add(amount, values);
  }

  record(name: HistogramName, value: number, attributes: Attributes): void {
    this.#binding?.histograms[name].record(value, attributes);
  }

  /** Binds to the meter provider of now, if that is another one. */
  refresh(): void {
    const provider = this.#provider();
    if (this.#binding?.provider === provider) return;
    this.unbind();
    this.#binding = this.#bind(provider);
  }

  unbind(): void {
    this.#binding?.unbind();
    this.#binding = null;
  }

  #bind(provider: MeterProvider): Binding {
    const meter = provider.getMeter(instrumentationName, instrumentationVersion, { schemaUrl });
    const undo: (() => void)[] = [];
    for (const [name, { name: metric, unit, description }] of entries(counters)) {
      const instrument = meter.createObservableCounter(metric, { unit, description });
      const callback = (result: ObservableResult): void => this.#tallies[name].observe(result);
      instrument.addCallback(callback);
      undo.push(() => instrument.removeCallback(callback));
    }
    const observables = entries(gauges).map(
      ([name, { name: metric, unit, description }]) =>
        [name, meter.createObservableGauge(metric, { unit, description })] as const,
    );
    const byName = Object.fromEntries(observables) as Record<GaugeName, (typeof observables)[number][1]>;
    const instruments = Object.values(byName);
    const readAll = (result: {
      observe(gauge: (typeof instruments)[number], value: number, attributes: Attributes): void;
    }): void => this.#readGauges((gauge, value, attributes) => result.observe(byName[gauge], value, attributes));
    meter.addBatchObservableCallback(readAll, instruments);
    undo.push(() => meter.removeBatchObservableCallback(readAll, instruments));
    const recorders = Object.fromEntries(
      entries(histograms).map(([name, { name: metric, unit, description, boundaries }]) => [
        name,
        meter.createHistogram(metric, { unit, description, advice: { explicitBucketBoundaries: [...boundaries] } }),
      ]),
    ) as Record<HistogramName, Histogram>;
    return {
      provider,
      histograms: recorders,
      unbind: () => {
        for (const each of undo) each();
      },
    };
  }
}
