import type { AddressInfo } from 'node:net';
import { combineHooks, type ProducerHooks, type ProducerStats } from '@sendonce/producer-core';
import type { FastifyPluginAsync, FastifyServerOptions } from 'fastify';
import { healthRoutes, type Readiness } from './api/health-routes.ts';
import { paymentRoutes } from './api/payment-routes.ts';
import { createApiServer } from './api/server.ts';
import type { PaymentsCluster } from './cluster/payments-cluster.ts';
import { createLedgerConsumer } from './consume/ledger-consumer.ts';
import { createNotificationConsumer, mailProvider } from './consume/notification-consumer.ts';
import type { ConsumerState } from './consume/payment-consumer.ts';
import { openPGlite } from './database/pglite.ts';
import { openPostgres } from './database/postgres.ts';
import { ensureSchema } from './database/schema.ts';
import { createSystemEvents, type Place, type SystemEventEmitter } from './events.ts';
import { type NotificationsOption, openNotificationKeys } from './notification-keys.ts';
import { type PaymentOrder, paymentsPartitions, paymentsTopic } from './payment.ts';
import { type Acceptance, PaymentDesk } from './produce/payment-desk.ts';
import { PaymentProducer, type ProducerTimes } from './produce/payment-producer.ts';
import { PaymentRequests } from './produce/payment-requests.ts';
import { producerEvents } from './produce/producer-events.ts';
import { readBooks } from './reconcile/read-books.ts';
import { type Reconciliation, reconcileBooks } from './reconcile/reconciliation.ts';
import { startTelemetry } from './telemetry.ts';

export interface PaymentSystemOptions {
  readonly cluster: PaymentsCluster;
  readonly database: 'pglite' | { readonly postgresUrl: string };
  readonly notifications: NotificationsOption;
  /** On 127.0.0.1; 0 for any free one. */
  readonly port: number;
  /** As Fastify takes it. Default: pino, to standard output. */
  readonly logger?: FastifyServerOptions['logger'];
  /** Hooks of the producer, beside the system's own. */
  readonly hooks?: ProducerHooks;
  readonly times?: ProducerTimes;
  /** Whether it reads the topic too, or takes payments alone and leaves the rest to other processes. Default true. */
  readonly consumers?: boolean;
  /** Default 10 s. */
  readonly requestTimeoutMs?: number;
  /** More routes on the same server: plugins made for the running system. */
  readonly instruments?: readonly ((system: PaymentSystem) => FastifyPluginAsync)[];
}

export interface PaymentSystem {
  /** Where the API listens. */
  readonly url: string;
  readonly events: SystemEventEmitter;
  readonly producer: {
    /** Null until it is connected. */
    stats(): ProducerStats | null;
    /** As if the process had died and started again: a new producer id. */
    restartProducer(): Promise<void>;
  };
  /** What POST /payments does. @throws {PaymentError} */
  pay(order: PaymentOrder, key: string): Promise<Acceptance>;
  /** Sends a payment again that was requested before. Resolves with where it is stored this time. */
  resend(key: string): Promise<Place>;
  /** The ledger's consumer dies at the next record, between its effect and the commit of its offset. Resolves when it is dead. */
  crashConsumer(): Promise<void>;
  restartConsumer(): Promise<void>;
  consumerStates(): Readonly<Record<'ledger' | 'notifications', ConsumerState>>;
  reconcile(): Promise<Reconciliation>;
  /** Stops taking requests, answers those in hand, settles what was sent, finishes the records in hand and commits. May be called twice. */
  close(): Promise<void>;
}

/** Puts the system together and starts it. Rejects, with everything closed again, when a part can't be reached. */
export async function startPaymentSystem(options: PaymentSystemOptions): Promise<PaymentSystem> {
  const { cluster } = options;
  const closers: (() => Promise<unknown>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const events = createSystemEvents();
    const app = await createApiServer({
      logger: { logger: options.logger ?? true },
      requestTimeoutMs: options.requestTimeoutMs,
    });
    const telemetry = startTelemetry();
    closers.push(() => telemetry.close());

    const database =
      options.database === 'pglite'
        ? await openPGlite()
        : openPostgres(options.database.postgresUrl, (err) => app.log.warn({ err }, 'Postgres connection lost'));
    closers.push(() => database.close());
    await ensureSchema(database);
    const keys = openNotificationKeys(options.notifications, (err) => app.log.warn({ err }, 'Redis connection lost'));
    closers.push(() => keys.close());
    closers.push(() => cluster.close());
    await cluster.ensureTopic(paymentsTopic, paymentsPartitions);

    const producer = new PaymentProducer({
      cluster,
      hooks: combineHooks(telemetry.producerHooks, producerEvents(events), options.hooks ?? {}),
      logger: { info: (message) => app.log.info(message), warn: (message) => app.log.warn(message) },
      times: options.times ?? {},
    });
    closers.push(() => producer.close());
    await producer.start();

    const { dedupHooks } = telemetry;
    const ledger = createLedgerConsumer({ cluster, database, events, hooks: dedupHooks });
    const notifications = createNotificationConsumer({
      cluster,
      keys: keys.store,
      send: mailProvider(database),
      events,
      hooks: dedupHooks,
    });
    closers.push(() => Promise.all([ledger.close(), notifications.close()]));
    events.on('consumer-paused', (paused) => app.log.warn(plain(paused), 'consumer waits, and tries again'));
    events.on('consumer-resumed', (resumed) => app.log.info(plain(resumed), 'consumer goes on'));
    events.on('payment-refused', (refused) => app.log.warn(plain(refused), 'payment refused by the ledger'));
    if (options.consumers ?? true) {
      await ledger.start();
      await notifications.start();
    }

    const requests = new PaymentRequests(database);
    const desk = new PaymentDesk(requests, producer, events);
    const consumerStates = () => ({ ledger: ledger.state, notifications: notifications.state });
    const readiness = async (): Promise<Readiness> => {
      const answers = await database.query('SELECT 1').then(
        () => true,
        () => false,
      );
      return {
        isReady: answers && producer.isReady,
        parts: {
          database: answers ? 'answers' : 'does not answer',
          producer: producer.stats()?.state ?? 'not connected',
        },
      };
    };
    paymentRoutes(app, { desk, requests, database });
    healthRoutes(app, readiness);
    telemetry.addRoute(app);

    let closing: Promise<void> | null = null;
    const system: PaymentSystem = {
      get url() {
        const { address, port } = app.server.address() as AddressInfo;
        return `http://${address}:${port}`;
      },
      events,
      producer: { stats: () => producer.stats(), restartProducer: () => producer.restart() },
      pay: (order, key) => desk.pay(order, key),
      resend: (key) => desk.resend(key),
      crashConsumer: () => ledger.crash(),
      restartConsumer: () => ledger.start(),
      consumerStates,
      reconcile: async () => reconcileBooks(await readBooks(database, cluster)),
      close: () => {
        closing ??= closeAll();
        return closing;
      },
    };
    for (const instrument of options.instruments ?? []) await app.register(instrument(system));
    closers.push(() => app.close());
    await app.listen({ host: '127.0.0.1', port: options.port });
    return system;
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** For the log: BigInts as text. */
function plain(event: object): object {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
  );
}
