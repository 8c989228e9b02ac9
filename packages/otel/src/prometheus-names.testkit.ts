import type { Attributes } from '@opentelemetry/api';
import { counters, gauges, histograms } from './metrics/catalogue.ts';
import type { Collected } from './observed.testkit.ts';

/** What an OpenTelemetry name is called in Prometheus. */
const prometheusName = (name: string): string => name.replaceAll('.', '_');

/** Metrics by the names under which Prometheus has them, without the unit that some exporters add. */
export const metricsByPrometheusName: ReadonlyMap<string, string> = new Map([
  ...Object.values(counters).map(({ name }): [string, string] => [`${prometheusName(name)}_total`, name]),
  ...Object.values(gauges).map(({ name }): [string, string] => [prometheusName(name), name]),
  ...Object.values(histograms).flatMap(({ name }) =>
    ['_bucket', '_sum', '_count'].map((part): [string, string] => [`${prometheusName(name)}${part}`, name]),
  ),
]);

/** A metric and the labels it must have, as in `name{label="value"} > 10`. */
export interface Selector {
  readonly text: string;
  readonly metric: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly above: number;
}

const selectorPattern = /^(sendonce_[a-z_]+|messaging_[a-z_]+)(?:\{([^}]*)\})?(?: > (\d+))?$/;

/** `null` for what is no selector of ours. */
export function readSelector(text: string): Selector | null {
  const match = text.match(selectorPattern);
  if (match === null) return null;
  const [, metric, labels = '', above = '0'] = match;
  const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name, value]): [string, string] => [
    name!,
    value!,
  ]);
  return { text, metric: metric!, labels: new Map(pairs), above: Number(above) };
}

/** What Prometheus would answer to the selector, summed. */
export function evaluate({ metric, labels }: Selector, collected: Collected): number {
  const name = metricsByPrometheusName.get(metric);
  if (name === undefined) throw new Error(`There is no metric ${metric}.`);
  const has = (attributes: Attributes): boolean => {
    const named = new Map(Object.entries(attributes).map(([key, value]) => [prometheusName(key), String(value)]));
    return [...labels].every(([label, value]) => named.get(label) === value);
  };
  return collected
    .points(name)
    .filter(({ attributes }) => has(attributes))
    .reduce((sum, { value }) => sum + (typeof value === 'number' ? value : (value as { count: number }).count), 0);
}
