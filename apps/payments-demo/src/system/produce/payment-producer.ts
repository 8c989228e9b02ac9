import {
  createProducer,
  createProducerPool,
  type ProducerHooks,
  type ProducerLogger,
  type ProducerOptions,
  type ProducerPool,
  type ProducerRecord,
  type ProducerStats,
  type RecordMetadata,
} from '@sendonce/producer-core';
import type { PaymentsCluster } from '../cluster/payments-cluster.ts';

/** What may be tuned. `maxBlockMs` and `deliveryTimeoutMs` together bound how long a client waits for its answer. */
export type ProducerTimes = Pick<
  ProducerOptions,
  'maxBlockMs' | 'requestTimeoutMs' | 'deliveryTimeoutMs' | 'retryBackoffMs' | 'lingerMs'
>;

const defaultTimes: ProducerTimes = { maxBlockMs: 3_000, requestTimeoutMs: 2_000, deliveryTimeoutMs: 8_000 };

export interface PaymentProducerOptions {
  readonly cluster: PaymentsCluster;
  readonly hooks: ProducerHooks;
  readonly logger: ProducerLogger;
  readonly times: ProducerTimes;
}

/** The process's one way to send. One producer is enough: it batches what all requests send at the same time. */
export class PaymentProducer {
  readonly #options: PaymentProducerOptions;
  #pool: ProducerPool;

  constructor(options: PaymentProducerOptions) {
    this.#options = options;
    this.#pool = this.#createPool();
  }

  start(): Promise<void> {
    return this.#pool.start();
  }

  send(record: ProducerRecord): Promise<RecordMetadata> {
    return this.#pool.send(record);
  }

  /** As if the process had died and started again: what was on its way ends with the fate known so far, and a new producer has a new id. */
  async restart(): Promise<void> {
    const old = this.#pool;
    this.#pool = this.#createPool();
    await old.close({ timeoutMs: 0 });
    await this.#pool.start();
  }

  /** Null until it is connected. */
  stats(): ProducerStats | null {
    return this.#pool.stats()[0] ?? null;
  }

  get isReady(): boolean {
    return this.stats()?.state === 'ready';
  }

  /** Settles everything that was sent, then disconnects. */
  async close(): Promise<void> {
    await this.#pool.flush();
    await this.#pool.close();
  }

  #createPool(): ProducerPool {
    const { cluster, hooks, logger, times } = this.#options;
    return createProducerPool({
      create: () =>
        createProducer({
          clientId: 'payments-api',
          ...defaultTimes,
          ...times,
          transport: cluster.transport('payments-api'),
          hooks,
          logger,
        }),
    });
  }
}
