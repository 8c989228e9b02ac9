import { once } from 'node:events';
import { createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { memoryPaymentsCluster } from './cluster/memory-payments-cluster.ts';
import { type PaymentSystem, startPaymentSystem } from './payment-system.ts';

/** Starting PGlite is seconds of work, and the machine may be busy. */
const pgliteStartMs = 60_000;

let cluster: MemoryCluster;
let system: PaymentSystem;

beforeAll(async () => {
  cluster = createMemoryCluster({ brokers: 3 });
  system = await startPaymentSystem({
    cluster: memoryPaymentsCluster(cluster),
    database: 'pglite',
    notifications: 'memory',
    port: 0,
    logger: false,
    times: { requestTimeoutMs: 200, deliveryTimeoutMs: 2_000, retryBackoffMs: 10 },
  });
}, pgliteStartMs);

afterAll(() => system.close());

const order = { from: 'account-1', to: 'account-2', amountMinor: 2_000, currency: 'EUR' } as const;

/** Waits until everything in the log has been applied and told. */
async function settled() {
  for (;;) {
    const another = once(system.events, 'message-outcome');
    const books = await system.reconcile();
    if (books.waitingForLedger === 0 && books.waitingForNotification === 0) return books;
    await another;
  }
}

it('a payment is accepted, stored, applied to two accounts, and told, once each', async () => {
  const response = await fetch(`${system.url}/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'first' },
    body: JSON.stringify(order),
  });
  expect(response.status).toBe(201);
  const books = await settled();
  expect(books).toMatchObject({ accepted: 1, recordsInLog: 1, applied: 1, notified: 1, isBalanced: true });
});

it('a payment sent again by a restarted producer is stored twice and applied once', async () => {
  const before = system.producer.stats()?.producerId;
  await system.producer.restartProducer();
  expect(system.producer.stats()?.producerId).not.toBe(before);
  await system.resend('first');
  const books = await settled();
  expect(books).toMatchObject({
    accepted: 1,
    recordsInLog: 2,
    paymentsInLog: 1,
    applied: 1,
    notified: 1,
    isBalanced: true,
  });
  expect(books.duplicatesCaughtByKey).toBe(1);
});

it('a consumer that dies between effect and commit applies nothing twice when it is back', async () => {
  const crashed = system.crashConsumer();
  await system.pay(order, 'second');
  await crashed;
  expect(system.consumerStates().ledger).toBe('crashed');
  const seenAgain = new Promise((resolve) => {
    system.events.on('message-outcome', (outcome) => outcome.consumer === 'ledger' && resolve(outcome));
  });
  await system.restartConsumer();
  expect(await seenAgain).toMatchObject({ key: 'second', status: 'duplicate' });
  expect(await settled()).toMatchObject({ accepted: 2, applied: 2, isBalanced: true });
});
