import type { Attributes, ObservableResult } from '@opentelemetry/api';

/** Below the SDK's own limit of 2,000 series a metric, beyond which it drops labels by itself. */
const seriesMax = 1_900;
const overflow: Attributes = { 'otel.metric.overflow': true };

type LabelValue = string | undefined;

interface Series {
  readonly attributes: Attributes;
  value: number;
}

/**
 * An exact counter kept in plain numbers and read when metrics are collected. Adding to an SDK's counter costs most of a microsecond,
 * and is lost while no SDK is registered.
 */
export class Tally {
  readonly #labels: readonly string[];
  readonly #attributesOf: (attributes: Attributes) => Attributes;
  readonly #series = new Map<string, Series>();

  /** `attributesOf` completes the attributes of a new series. */
  constructor(labels: readonly string[], attributesOf: (attributes: Attributes) => Attributes) {
    this.#labels = labels;
    this.#attributesOf = attributesOf;
  }

  /** Values in the order of the labels; `undefined` leaves a label out, and trailing ones need not be given. */
  add(amount: number, values: readonly LabelValue[]): void {
    let key = values[0] ?? '';
    for (let index = 1; index < this.#labels.length; index++) key += `\0${values[index] ?? ''}`;
    const series = this.#series.get(key) ?? this.#open(key, values);
    series.value += amount;
  }

  observe(result: ObservableResult): void {
    for (const { attributes, value } of this.#series.values()) result.observe(value, attributes);
  }

  #open(key: string, values: readonly LabelValue[]): Series {
    const isFull = this.#series.size >= seriesMax;
    const placeKey = isFull ? '\0overflow' : key;
    let series = this.#series.get(placeKey);
    if (series === undefined) {
      series = { attributes: isFull ? overflow : this.#attributesOf(this.#named(values)), value: 0 };
      this.#series.set(placeKey, series);
    }
    return series;
  }

  #named(values: readonly LabelValue[]): Attributes {
    const attributes: Attributes = {};
    for (let index = 0; index < values.length; index++) {
      const value = values[index];
      if (value !== undefined) attributes[this.#labels[index]!] = value;
    }
    return attributes;
  }
}
