import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Prometheus, startPrometheus } from '@sendonce/test-services/observability';
import { createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { memoryPaymentsCluster } from '../src/system/cluster/memory-payments-cluster.ts';
import { type PaymentSystem, startPaymentSystem } from '../src/system/payment-system.ts';

const rulesFile = fileURLToPath(
  new URL('prometheus/sendonce.rules.yml', import.meta.resolve('@sendonce/otel/package.json')),
);
/** No record fails here, and a ratio of no series is none. */
const nothingFails = 'sendonce:error_ratio:rate5m';
const payments = 30;

let cluster: MemoryCluster;
let system: PaymentSystem;
let prometheus: Prometheus;

beforeAll(async () => {
  cluster = createMemoryCluster({ brokers: 3 });
  system = await startPaymentSystem({
    cluster: memoryPaymentsCluster(cluster),
    database: 'pglite',
    notifications: 'memory',
    port: 0,
    logger: false,
    times: { requestTimeoutMs: 200, deliveryTimeoutMs: 5_000, retryBackoffMs: 10 },
  });
  prometheus = await startPrometheus({
    targets: [new URL(system.url).host],
    ruleFiles: [rulesFile],
    intervalMs: 250,
  });
  for (let number = 0; number < payments; number++) {
    if (number % 10 === 5) cluster.faults.loseReply();
    await pay(`payment-${number}`);
  }
});

afterAll(async () => {
  await prometheus?.close();
  await system?.close();
});

async function pay(key: string): Promise<void> {
  const response = await fetch(`${system.url}/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ from: 'account-1', to: 'account-2', amountMinor: 100, currency: 'EUR' }),
  });
  expect(response.status).toBe(201);
}

async function answerTo(expression: string): Promise<number> {
  const [sample] = await prometheus.query(expression);
  return sample?.value ?? 0;
}

test('Prometheus scrapes the payment system: what was sent, sent again and applied, once each', async () => {
  const expected = {
    'sum(messaging_client_sent_messages_total)': payments,
    'sum(sendonce_producer_record_retries_total{sendonce_retry_class="ambiguous"})': payments / 10,
    'sum(sendonce_consumer_dedup_messages_total{sendonce_dedup_outcome="processed", sendonce_dedup_store="pglite"})':
      payments,
    'sum(sendonce_producer_active)': 1,
  };
  const read = async () =>
    Object.fromEntries(
      await Promise.all(Object.keys(expected).map(async (query) => [query, await answerTo(query)] as const)),
    );
  await expect.poll(read, { timeout: 20_000 }).toEqual(expected);
});

test('and every recording rule of @sendonce/otel finds its metrics there', async () => {
  const recorded = [...readFileSync(rulesFile, 'utf8').matchAll(/record: (\S+)/g)].map(([, name]) => name!);
  expect(recorded.length).toBeGreaterThan(15);
  let more = 0;
  const missing = async () => {
    // Rates and ratios are of what is going on.
    cluster.faults.loseReply();
    await pay(`more-${more++}`);
    await system.resend('payment-0');
    const known = await prometheus.metricNames();
    return recorded.filter((name) => !known.includes(name));
  };
  await expect.poll(missing, { timeout: 30_000 }).toEqual([nothingFails]);
});
