import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { createDeduplicator, memoryStore } from '@sendonce/consumer-dedup';
import { createTelemetry } from '@sendonce/otel';
import { createProducer } from '@sendonce/producer-core';
import { type Prometheus, promtool, startPrometheus } from '@sendonce/test-services/observability';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dashboard, dashboardFile } from '../dashboards/build.ts';
import { allIsWell, causes } from '../src/causes.testkit.ts';
import { metricsByPrometheusName } from '../src/prometheus-names.testkit.ts';
import { conventional, own } from '../src/semconv.ts';

const rulesFolder = fileURLToPath(new URL('../prometheus', import.meta.url));
const rulesFile = `${rulesFolder}/sendonce.rules.yml`;
const rules = readFileSync(rulesFile, 'utf8');

const labelNames = new Set(
  [...Object.values(conventional), ...Object.values(own)].map((name) => name.replaceAll('.', '_')),
);

/** Every name of a metric in PromQL text, and the patterns that stand for one. */
function metricsIn(promql: string): { names: Set<string>; patterns: Set<string> } {
  const patterns = new Set([...promql.matchAll(/__name__=~"([^"]+)"/g)].map(([, pattern]) => pattern!));
  const rest = promql.replaceAll(/"[^"]*"/g, '""').replaceAll(/\{\{[^}]*\}\}/g, '');
  const words = [...rest.matchAll(/\b(?:sendonce[_:]|messaging_)[a-z0-9_:]+/g)].map(([word]) => word);
  return { patterns, names: new Set(words.filter((word) => !labelNames.has(word))) };
}

const expressionsOf = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(expressionsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' && (name === 'expr' || name === 'definition') ? [inner] : expressionsOf(inner),
  );
};
/** The rules' expressions and the names they record; what annotations say is for people. */
const ruleText = rules
  .split('\n')
  .filter((line) => !/^\s*(#|summary:|description:|- alert:)/.test(line))
  .join('\n');

let exporter: PrometheusExporter;
let prometheus: Prometheus;
let known: Set<string>;

const port = async (): Promise<number> => {
  const { createServer } = await import('node:net');
  return await new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address() as { port: number };
      server.close(() => resolve(free));
    });
  });
};

async function until(isThere: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 30_000;
  while (!(await isThere()) && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 100));
}

beforeAll(async () => {
  const free = await port();
  exporter = new PrometheusExporter({ host: '127.0.0.1', port: free });
  const meterProvider = new MeterProvider({ readers: [exporter] });
  const telemetry = createTelemetry({ meterProvider });
  prometheus = await startPrometheus({ targets: [`127.0.0.1:${free}`], ruleFiles: [rulesFile], intervalMs: 250 });

  // A service that is well, with everything that can go wrong on the side.
  const cluster = createMemoryCluster({ topics: { payments: {} } });
  const producer = await createProducer({
    transport: cluster.transport(),
    clientId: 'payments-api',
    hooks: telemetry.producerHooks,
  });
  const ledger = createDeduplicator({ store: memoryStore(), namespace: 'ledger', hooks: telemetry.dedupHooks });
  let next = 0;
  const traffic = setInterval(() => {
    for (let index = 0; index < 20; index++) producer.enqueue({ topic: 'payments', value: '20.00 EUR' }, () => {});
    // Every tenth comes twice.
    const paymentId = `payment-${Math.ceil(next++ / 10) * 10}`;
    void ledger.process({ topic: 'payments', value: '', headers: { 'idempotency-key': paymentId } }, async () => {});
  }, 10);
  for (const cause of [allIsWell, ...Object.values(causes)]) await cause(telemetry);
  const recorded = [...ruleText.matchAll(/record: (\S+)/g)].map(([, name]) => name!);
  await until(async () => {
    known = new Set(await prometheus.metricNames());
    return recorded.every((name) => known.has(name));
  });
  clearInterval(traffic);
  await producer.close();
  await ledger.close();
});
afterAll(async () => {
  await prometheus?.close();
  await exporter?.shutdown();
});

describe('Prometheus', () => {
  test('has every metric that the rules name, and every one that they record', () => {
    const { names, patterns } = metricsIn(ruleText);
    expect(names.size).toBeGreaterThan(30);
    for (const name of names) expect(known, name).toContain(name);
    for (const pattern of patterns) {
      expect(
        [...known].filter((name) => new RegExp(`^(?:${pattern})$`).test(name)),
        pattern,
      ).toHaveLength(1);
    }
  });

  test('has every metric that the dashboard names', () => {
    const { names } = metricsIn(expressionsOf(dashboard()).join('\n'));
    expect(names.size).toBeGreaterThan(30);
    for (const name of names) expect(known, name).toContain(name);
  });

  test('can answer every query of the dashboard', async () => {
    const variables: [string, string][] = [
      ['$job', '.*'],
      ['$topic', '.*'],
      ['$__rate_interval', '1m'],
      ['$__range', '1m'],
    ];
    const queries = expressionsOf(dashboard()).filter((expression) => !expression.startsWith('label_values'));
    for (const query of queries) {
      const asked = variables.reduce((text, [name, value]) => text.replaceAll(name, value), query);
      // A rate needs two scrapes of what has only just happened.
      let answers = 0;
      await until(async () => {
        answers = (await prometheus.query(asked)).length;
        return answers > 0;
      });
      expect(answers, asked).toBeGreaterThan(0);
    }
  });

  test('has every metric of the catalogue, once it has happened', () => {
    const missing = [...metricsByPrometheusName.keys()].filter((name) => !known.has(name));
    // A process is told of its churn once, and another test of it may have come first; the memory store has no transactions.
    const elsewhere = [
      'sendonce_producer_churn_warnings_total',
      'sendonce_consumer_dedup_transaction_retries_total',
      'sendonce_propagation_conflicts_total',
    ];
    expect(missing.filter((name) => !elsewhere.includes(name))).toEqual([]);
  });

  test('fires the alerts whose causes were injected, the first time they ever happened', async () => {
    const expected = [
      'SendonceRecordsFailed',
      'SendonceDataLossSuspected',
      'SendonceSequenceErrors',
      'SendonceProducerStopped',
      'SendonceRetriesUnprotected',
      'SendonceUnheardFailures',
      'SendonceDedupStoreErrors',
      'SendonceDedupConflicts',
      'SendonceLeasesLost',
    ];
    const firing = async () =>
      (await prometheus.alerts()).filter(({ state }) => state === 'firing').map(({ name }) => name);
    await until(async () => {
      const names = await firing();
      return expected.every((name) => names.includes(name));
    });
    expect(await firing()).toEqual(expect.arrayContaining(expected));
  });
});

describe('what is shipped', () => {
  test('promtool accepts the rules and their tests', async () => {
    await promtool(['check', 'rules', 'sendonce.rules.yml'], rulesFolder);
    await promtool(['test', 'rules', 'sendonce.rules.test.yml'], rulesFolder);
  });

  test('every alert has a rule test', () => {
    const tests = readFileSync(`${rulesFolder}/sendonce.rules.test.yml`, 'utf8');
    for (const [, alert] of rules.matchAll(/- alert: (\w+)/g)) expect(tests, alert).toContain(`alertname: ${alert}`);
  });

  test('the dashboard’s file is what the builder makes (npm run dashboard -w @sendonce/otel)', () => {
    expect(JSON.parse(readFileSync(dashboardFile, 'utf8'))).toEqual(dashboard());
  });
});
