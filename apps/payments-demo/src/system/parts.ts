import { combineHooks } from '@sendonce/producer-core';
import type { FastifyBaseLogger } from 'fastify';
import { createLedgerConsumer } from './consume/ledger-consumer.ts';
import { createNotificationConsumer, mailProvider } from './consume/notification-consumer.ts';
import type { Database } from './database/database.ts';
import { openPGlite } from './database/pglite.ts';
import { openPostgres } from './database/postgres.ts';
import { ensureSchema } from './database/schema.ts';
import { createSystemEvents, type SystemEventEmitter } from './events.ts';
import { openNotificationKeys } from './notification-keys.ts';
import { using } from './part-error.ts';
import { paymentsPartitions, paymentsTopic } from './payment.ts';
import type { PaymentSystemOptions } from './payment-system.ts';
import { PaymentDesk } from './produce/payment-desk.ts';
import { PaymentProducer } from './produce/payment-producer.ts';
import { PaymentRequests } from './produce/payment-requests.ts';
import { producerEvents } from './produce/producer-events.ts';
import type { Shutdown } from './shutdown.ts';
import { type SystemTelemetry, startTelemetry } from './telemetry.ts';

/** What the system is made of. */
export interface Parts {
  readonly events: SystemEventEmitter;
  readonly telemetry: SystemTelemetry;
  readonly database: Database;
  readonly producer: PaymentProducer;
  readonly requests: PaymentRequests;
  readonly desk: PaymentDesk;
  readonly ledger: ReturnType<typeof createLedgerConsumer>;
  readonly notifications: ReturnType<typeof createNotificationConsumer>;
}

/** Opens and starts every part; each adds to `shutdown` how it is closed. Rejects at the first that can't be reached. */
export async function startParts(
  options: PaymentSystemOptions,
  log: FastifyBaseLogger,
  shutdown: Shutdown,
): Promise<Parts> {
  const { cluster } = options;
  const events = createSystemEvents();
  logTrouble(events, log);
  const telemetry = startTelemetry();
  shutdown.add(() => telemetry.close());

  const database =
    options.database === 'pglite'
      ? await openPGlite()
      : openPostgres(options.database.postgresUrl, (err) => log.warn({ err }, 'Postgres connection lost'));
  shutdown.add(() => database.close());
  await using('Postgres', () => ensureSchema(database));
  const keys = openNotificationKeys(options.notifications, (err) => log.warn({ err }, 'Redis connection lost'));
  shutdown.add(() => keys.close());
  const hasConsumers = options.consumers ?? true;
  if (hasConsumers) await using('Redis', () => keys.check());

  shutdown.add(() => cluster.close());
  await using('Kafka', () => cluster.ensureTopic(paymentsTopic, paymentsPartitions));
  const producer = new PaymentProducer({
    cluster,
    hooks: combineHooks(telemetry.producerHooks, producerEvents(events), options.hooks ?? {}),
    logger: { info: (message) => log.info(message), warn: (message) => log.warn(message) },
    times: options.times ?? {},
  });
  shutdown.add(() => producer.close());
  await using('Kafka', () => producer.start());

  const hooks = telemetry.dedupHooks;
  const ledger = createLedgerConsumer({ cluster, database, events, hooks });
  const send = mailProvider(database);
  const notifications = createNotificationConsumer({ cluster, keys: keys.store, send, events, hooks });
  shutdown.add(() => Promise.all([ledger.close(), notifications.close()]));
  if (hasConsumers) await Promise.all([ledger.start(), notifications.start()]);

  const requests = new PaymentRequests(database);
  const desk = new PaymentDesk(requests, producer, events);
  return { events, telemetry, database, producer, requests, desk, ledger, notifications };
}

function logTrouble(events: SystemEventEmitter, log: FastifyBaseLogger): void {
  events.on('consumer-paused', (event) => log.warn(loggable(event), 'consumer waits, and tries again'));
  events.on('consumer-resumed', (event) => log.info(loggable(event), 'consumer goes on'));
  events.on('payment-refused', (event) => log.warn(loggable(event), 'payment refused by the ledger'));
}

/** JSON has no BigInt. */
function loggable(event: object): object {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
  );
}
