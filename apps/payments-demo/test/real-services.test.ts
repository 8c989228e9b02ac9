import { type KafkaCluster, startKafka } from '@sendonce/test-services';
import { type PostgresService, type RedisService, startPostgres, startRedis } from '@sendonce/test-services/databases';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../src/soak/free-port.ts';
import { ServiceProcess } from '../src/soak/service-process.ts';
import { kafkaPaymentsCluster } from '../src/system/cluster/kafka-payments-cluster.ts';
import type { ConsumerName } from '../src/system/events.ts';
import { order, post, recognised, settledBooks } from '../src/system/memory-system.testkit.ts';
import { type PaymentSystem, startPaymentSystem } from '../src/system/payment-system.ts';

/** A busy machine needs some time for a burst; the test of a Kafka that is down waits for all of it. */
const deliveryTimeoutMs = 6_000;

let kafka: KafkaCluster;
let postgres: PostgresService;
let redis: RedisService;
let system: PaymentSystem;

beforeAll(async () => {
  [kafka, postgres, redis] = await Promise.all([
    // Its own, since it is frozen below.
    startKafka({ brokers: 1, config: { 'log.retention.hours': 1 } }),
    startPostgres({ own: true }),
    startRedis({ own: true }),
  ]);
  system = await startPaymentSystem({
    cluster: kafkaPaymentsCluster({ brokers: kafka.bootstrap }),
    database: { postgresUrl: postgres.url },
    notifications: { redisUrl: redis.url },
    port: 0,
    logger: false,
    times: { maxBlockMs: 3_000, requestTimeoutMs: 1_000, deliveryTimeoutMs },
  });
});

afterAll(async () => {
  await system?.close();
  await Promise.all([kafka?.stop(), postgres?.close(), redis?.close()]);
});

/** As a client should: the same again, with the same key, until it is told. */
async function payUntilAccepted(key: string): Promise<void> {
  await expect
    .poll(async () => (await post(system, order, { 'idempotency-key': key })).status, { timeout: 60_000 })
    .toBe(201);
}

/** Resolves with the reason when this consumer could not process a record; the other one may meet the same. */
function paused(name: ConsumerName): Promise<string> {
  return new Promise((resolve) => {
    system.events.on('consumer-paused', ({ consumer, reason }) => {
      if (consumer === name) resolve(reason);
    });
  });
}

function resumed(name: ConsumerName): Promise<void> {
  return new Promise((resolve) => {
    system.events.on('consumer-resumed', ({ consumer }) => {
      if (consumer === name) resolve();
    });
  });
}

const keys = (name: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${name}-${index}`);

it('payments are accepted, stored, applied and told, once each, on Kafka, Postgres and Redis', async () => {
  await Promise.all(keys('first', 100).map(payUntilAccepted));
  expect(await settledBooks(system)).toMatchObject({
    accepted: 100,
    paymentsInLog: 100,
    applied: 100,
    notified: 100,
    differences: [],
    isBalanced: true,
  });
});

it('what a restarted producer sends again, and a crashed consumer reads again, is applied once', async () => {
  const before = await system.reconcile();
  await system.producer.restartProducer();
  const duplicates = keys('first', 10).map((key) => recognised(system, key));
  await Promise.all(keys('first', 10).map((key) => system.resend(key)));
  await Promise.all(duplicates);
  const crashed = system.crashConsumer();
  await Promise.all(keys('second', 20).map((key) => system.pay(order, key)));
  await crashed;
  const readAgain = recognised(system);
  await system.restartConsumer();
  // At least the record that it died of.
  await readAgain;
  const books = await settledBooks(system);
  expect(books).toMatchObject({
    recordsInLog: before.recordsInLog + 30,
    applied: before.applied + 20,
    duplicatesCaughtByKey: 10,
    isBalanced: true,
  });
});

it('while Kafka is down clients hear 503 in bounded time; the same key finds out what became of the payment', async () => {
  const [brokerId] = kafka.brokerIds as [number];
  kafka.freeze(brokerId);
  const startMs = performance.now();
  const answers = await Promise.all(keys('third', 5).map((key) => post(system, order, { 'idempotency-key': key })));
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
  expect(performance.now() - startMs).toBeLessThan(3 * deliveryTimeoutMs);
  kafka.resume(brokerId);
  await Promise.all(keys('third', 5).map(payUntilAccepted));
  const books = await settledBooks(system);
  expect(books).toMatchObject({ pending: 0, isBalanced: true });
  expect(books.applied).toBe(books.accepted);
});

it('while Postgres is down nothing is accepted, the consumer waits, and it skips nothing when it goes on', async () => {
  const { applied } = await settledBooks(system);
  const crashed = system.crashConsumer();
  await system.pay(order, 'fourth');
  await crashed;
  await Promise.all(keys('fourth', 20).map((key) => system.pay(order, key)));
  await postgres.stop();
  const waits = paused('ledger');
  await system.restartConsumer();
  expect(await waits).toMatch(/can’t be reached/);
  const { status, body } = await post(system, order, { 'idempotency-key': 'fifth' });
  expect([status, body.error]).toEqual([503, { code: 'DATABASE_UNAVAILABLE', message: expect.any(String) }]);
  expect((await fetch(`${system.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${system.url}/healthz`)).status).toBe(200);
  const goesOn = resumed('ledger');
  await postgres.start();
  await goesOn;
  expect(await settledBooks(system)).toMatchObject({ applied: applied + 21, pending: 0, isBalanced: true });
});

it('while Redis is down payments go on, and everybody is told afterwards', async () => {
  await redis.stop();
  const waits = paused('notifications');
  await Promise.all(keys('sixth', 10).map((key) => system.pay(order, key)));
  await waits;
  await redis.start();
  const books = await settledBooks(system);
  expect(books).toMatchObject({ isBalanced: true });
  expect(books.notified).toBe(books.accepted);
});

it('told to stop in the middle of a burst, the process answers what it has in hand, and every payment it accepted is applied', async () => {
  const before = await settledBooks(system);
  const service = new ServiceProcess('payments', await freePort(), {
    KAFKA_BROKERS: kafka.bootstrap.join(','),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
  });
  await service.start();
  let accepted = 0;
  let stopping: Promise<number | null> | null = null;
  await Promise.all(
    keys('seventh', 400).map(async (key) => {
      const answer = await post(service, order, { 'idempotency-key': key }).catch(() => null);
      if (answer?.status === 201 && ++accepted === 50) stopping = service.end('SIGTERM');
    }),
  );
  expect(await stopping).toBe(0);
  const books = await settledBooks(system);
  expect(books).toMatchObject({ differences: [], isBalanced: true });
  // What was accepted and could not be told any more is applied as well; nothing that was told is missing.
  expect(books.accepted - before.accepted).toBeGreaterThanOrEqual(accepted);
  expect(books.applied).toBeGreaterThanOrEqual(books.accepted);
  expect(accepted).toBeGreaterThanOrEqual(50);
});
