import type { AddressInfo } from 'node:net';
import type { ProducerHooks, ProducerStats } from '@sendonce/producer-core';
import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { healthRoutes, type Readiness } from './api/health-routes.ts';
import { paymentRoutes } from './api/payment-routes.ts';
import { type ApiServerOptions, createApiServer } from './api/server.ts';
import type { PaymentsCluster } from './cluster/payments-cluster.ts';
import type { ConsumerState } from './consume/payment-consumer.ts';
import type { Place, SystemEventEmitter } from './events.ts';
import type { NotificationsOption } from './notification-keys.ts';
import { type Parts, startParts } from './parts.ts';
import type { PaymentOrder } from './payment.ts';
import type { Acceptance } from './produce/payment-desk.ts';
import type { ProducerTimes } from './produce/payment-producer.ts';
import { readBooks } from './reconcile/read-books.ts';
import { type Reconciliation, reconcileBooks } from './reconcile/reconciliation.ts';
import { Shutdown } from './shutdown.ts';

export interface PaymentSystemOptions {
  readonly cluster: PaymentsCluster;
  readonly database: 'pglite' | { readonly postgresUrl: string };
  readonly notifications: NotificationsOption;
  /** On 127.0.0.1; 0 for any free one. */
  readonly port: number;
  /** As Fastify takes it. Default: pino, to standard output. */
  readonly logger?: ApiServerOptions['logger'];
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

/** Clients get this long to read their answers when the system closes. */
const closeGraceMs = 15_000;

/** Puts the system together and starts it. Rejects, with everything closed again, when a part can't be reached or the port is taken. */
export async function startPaymentSystem(options: PaymentSystemOptions): Promise<PaymentSystem> {
  const shutdown = new Shutdown();
  try {
    const app = await createApiServer({ logger: options.logger ?? true, requestTimeoutMs: options.requestTimeoutMs });
    const parts = await startParts(options, app.log, shutdown);
    paymentRoutes(app, parts);
    healthRoutes(app, () => readiness(parts));
    parts.telemetry.addRoute(app);
    const system = systemOf(options, app, parts, shutdown);
    for (const instrument of options.instruments ?? []) await app.register(instrument(system));
    shutdown.add(() => closeServer(app));
    await app.listen({ host: '127.0.0.1', port: options.port });
    return system;
  } catch (error) {
    await shutdown.run().catch(() => undefined);
    throw error;
  }
}

function systemOf(
  { cluster }: PaymentSystemOptions,
  app: FastifyInstance,
  { events, producer, desk, database, ledger, notifications }: Parts,
  shutdown: Shutdown,
): PaymentSystem {
  return {
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
    consumerStates: () => ({ ledger: ledger.state, notifications: notifications.state }),
    reconcile: async () => reconcileBooks(await readBooks(database, cluster)),
    close: () => shutdown.run(),
  };
}

/** Whether payments can be taken. A consumer that waits is no reason to send clients elsewhere. */
async function readiness({ database, producer }: Parts): Promise<Readiness> {
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
}

/** Takes no new requests and answers those in hand. A client that keeps its connection open does not keep the process. */
async function closeServer(app: FastifyInstance): Promise<void> {
  const cutOff = setTimeout(() => app.server.closeAllConnections(), closeGraceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cutOff);
  }
}
