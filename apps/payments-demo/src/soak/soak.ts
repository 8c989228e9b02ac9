import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createProducer } from '@sendonce/producer-core';
import { startKafka } from '@sendonce/test-services';
import { startPostgres, startRedis } from '@sendonce/test-services/databases';
import { kafkaPaymentsCluster } from '../system/cluster/kafka-payments-cluster.ts';
import { openPostgres } from '../system/database/postgres.ts';
import { paymentRecord } from '../system/payment.ts';
import { readBooks } from '../system/reconcile/read-books.ts';
import { type Reconciliation, reconcileBooks } from '../system/reconcile/reconciliation.ts';
import { Clients } from './clients.ts';
import { freePort } from './free-port.ts';
import { type Measure, ServiceProcess } from './service-process.ts';
import { troublesOf } from './troubles.ts';

export interface SoakOptions {
  /** How long trouble goes on, at least one round of it; starting and reconciling come on top. */
  readonly durationMs: number;
  readonly paymentsPerSecond: number;
  readonly say: (line: string) => void;
}

export interface TroubleReport {
  readonly name: string;
  readonly tookMs: number;
  /** The longest time in which nothing was accepted. */
  readonly longestGapMs: number;
}

export interface SoakReport {
  readonly payments: number;
  readonly requests: number;
  readonly setbacks: number;
  /** Accepted payments that another application stored a second time. */
  readonly resent: number;
  readonly troubles: readonly TroubleReport[];
  readonly books: Reconciliation;
  /** Accepted, as their clients were told, and not applied, or under another id. */
  readonly acceptedNotApplied: readonly string[];
  readonly complaints: readonly string[];
  /** By process: in calm before the first trouble that it lived through, and after the last. */
  readonly measures: readonly { readonly name: string; readonly before: Measure; readonly after: Measure }[];
}

const calmMs = 2_000;
const settleTimeoutMs = 60_000;
/** A dead broker is noticed this fast. */
const brokerSessionTimeoutMs = 4_000;

/** Payments at a steady rate on real services, while each part is killed in turn. Resolves when all is calm again and the books are compared. */
export async function soak({ durationMs, paymentsPerSecond, say }: SoakOptions): Promise<SoakReport> {
  say('starting three brokers, Postgres and Redis');
  await using services = new AsyncDisposableStack();
  const [kafka, postgres, redis] = await Promise.all([
    startKafka({ brokers: 3, config: { 'broker.session.timeout.ms': brokerSessionTimeoutMs } }),
    startPostgres({ own: true }),
    startRedis({ own: true }),
  ]);
  services.use(kafka);
  services.use(postgres);
  services.use(redis);
  const environment = {
    KAFKA_BROKERS: kafka.bootstrap.join(','),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    LOG_LEVEL: 'warn',
  };
  const api = new ServiceProcess('API', await freePort(), { ...environment, CONSUMERS: 'off' });
  const consumers = new ServiceProcess('consumers', await freePort(), environment);
  const processes = [api, consumers];
  for (const each of processes) services.defer(() => each.end('SIGKILL').then(() => undefined));
  await Promise.all(processes.map((each) => each.start()));

  const cluster = kafkaPaymentsCluster({ brokers: kafka.bootstrap });
  const other = await createProducer({ transport: cluster.transport('soak'), clientId: 'soak' });
  services.defer(() => other.close());
  const run = `soak-${randomBytes(3).toString('hex')}`;
  const clients = new Clients(api.url, run, (payment, key) => other.send(paymentRecord(payment, key)));
  const paying = clients.begin(paymentsPerSecond);
  const troubles: TroubleReport[] = [];
  const before = new Map<ServiceProcess, Measure>();
  const endMs = performance.now() + durationMs;
  const inTurn = troublesOf({ kafka, postgres, redis, api, consumers });
  for (let turn = 0; performance.now() < endMs || turn < inTurn.length; turn++) {
    await sleep(calmMs);
    clients.takeLongestGapMs();
    const trouble = inTurn[turn % inTurn.length]!;
    const startMs = performance.now();
    await trouble.cause();
    await untilReady(processes);
    const report = {
      name: trouble.name,
      tookMs: performance.now() - startMs,
      longestGapMs: clients.takeLongestGapMs(),
    };
    troubles.push(report);
    say(
      `${trouble.name}: over after ${seconds(report.tookMs)}, nothing accepted for ${seconds(report.longestGapMs)} at most; ${clients.accepted.length} payments accepted so far`,
    );
    // Both processes have been killed by then, and start to count.
    if (turn === 1) for (const each of processes) before.set(each, await each.measure());
  }
  say('calm: waiting for the last answers');
  await Promise.all([clients.finish(), paying]);

  say('everybody was told: comparing the books');
  const database = openPostgres(postgres.url, () => {});
  services.defer(() => database.close());
  const books = await settledBooks(async () => reconcileBooks(await readBooks(database, cluster)));
  say('books compared');
  const { rows } = await database.query<{ key: string; payment_id: string; is_applied: boolean }>(
    `SELECT idempotency_key AS key, payment_id, EXISTS (SELECT FROM entries WHERE entries.payment_id = payment_requests.payment_id) AS is_applied
     FROM payment_requests`,
  );
  const requests = new Map(rows.map((row) => [row.key, row]));
  const isApplied = ({ key, paymentId }: { key: string; paymentId: string | null }): boolean => {
    const request = requests.get(key);
    return request !== undefined && request.payment_id === paymentId && request.is_applied;
  };
  const measures = [];
  for (const each of processes) {
    const first = before.get(each);
    if (first !== undefined) measures.push({ name: each.name, before: first, after: await each.measure() });
  }
  for (const each of processes) await each.end('SIGTERM');
  return {
    payments: clients.payments.length,
    requests: sum(clients.payments.map((payment) => payment.requests)),
    setbacks: sum(clients.payments.map((payment) => payment.setbacks)),
    resent: clients.resent,
    troubles,
    books,
    acceptedNotApplied: clients.accepted.filter((payment) => !isApplied(payment)).map(({ key }) => key),
    complaints: clients.complaints,
    measures,
  };
}

async function untilReady(processes: readonly ServiceProcess[]): Promise<void> {
  for (const each of processes) await each.start();
}

/** The books, when everything in the log was read; or as they are when that takes too long. */
async function settledBooks(read: () => Promise<Reconciliation>): Promise<Reconciliation> {
  const deadlineMs = performance.now() + settleTimeoutMs;
  for (;;) {
    const books = await read();
    if (books.waitingForLedger + books.waitingForNotification === 0 || performance.now() > deadlineMs) return books;
    await sleep(500);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}
