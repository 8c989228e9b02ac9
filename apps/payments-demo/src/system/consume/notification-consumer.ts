import { createDeduplicator, type DedupHooks, type LeaseStore } from '@sendonce/consumer-dedup';
import type { PaymentsCluster } from '../cluster/payments-cluster.ts';
import type { Database } from '../database/database.ts';
import type { SystemEventEmitter } from '../events.ts';
import { readPayment } from '../payment.ts';
import { keyOf } from './ledger-consumer.ts';
import { PaymentConsumer, placeOf, storeTimeoutMs } from './payment-consumer.ts';

export interface NotificationConsumerOptions {
  readonly cluster: PaymentsCluster;
  /** Redis, or this process's memory. */
  readonly keys: LeaseStore;
  readonly send: (paymentId: string) => Promise<void>;
  readonly events: SystemEventEmitter;
  readonly hooks: DedupHooks;
}

/**
 * Tells the payer, once. What is sent can't join a transaction of ours, so the key is claimed with a lease, and marked after the effect:
 * a process that dies in between sends it twice (the crash-point matrix in consumer-dedup's README).
 */
export function createNotificationConsumer({ cluster, keys, send, events, hooks }: NotificationConsumerOptions) {
  const dedup = createDeduplicator({ store: keys, namespace: 'notifications', storeTimeoutMs, hooks });
  return new PaymentConsumer<string>({
    name: 'notifications',
    cluster,
    events,
    dedup,
    process: (record) =>
      dedup.process(record, async ({ value }) => {
        const { paymentId } = readPayment(value);
        await send(paymentId);
        return paymentId;
      }),
    onProcessed: (record, paymentId) =>
      void events.emit('notification-sent', { paymentId, key: keyOf(record), ...placeOf(record) }),
    // The ledger refuses the same record and says so; nobody can be told of it.
    putAside: async () => {},
  });
}

/** Stands for a mail provider, which keeps its own list of what it sent. */
export function mailProvider(database: Database): (paymentId: string) => Promise<void> {
  return async (paymentId) => {
    await database.query('INSERT INTO notifications (payment_id) VALUES ($1)', [paymentId]);
  };
}
