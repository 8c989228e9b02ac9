import { createDeduplicator, type DedupHooks } from '@sendonce/consumer-dedup';
import type { ConsumedRecord, PaymentsCluster } from '../cluster/payments-cluster.ts';
import type { Database } from '../database/database.ts';
import type { SystemEventEmitter } from '../events.ts';
import { applyPayment, type Refusal, refuse } from '../ledger/ledger.ts';
import { type Payment, readPayment, tryPaymentId } from '../payment.ts';
import { PaymentConsumer, placeOf, storeTimeoutMs } from './payment-consumer.ts';

interface Applied {
  readonly payment: Payment;
  readonly refusal: Refusal | null;
}

export interface LedgerConsumerOptions {
  readonly cluster: PaymentsCluster;
  readonly database: Database;
  readonly events: SystemEventEmitter;
  readonly hooks: DedupHooks;
}

/** Applies each payment once: its entries and its business key are committed together, or neither is. */
export function createLedgerConsumer({ cluster, database, events, hooks }: LedgerConsumerOptions) {
  const dedup = createDeduplicator({ store: database.keys, namespace: 'ledger', storeTimeoutMs, hooks });
  return new PaymentConsumer<Applied>({
    name: 'ledger',
    cluster,
    events,
    dedup,
    process: (record) =>
      dedup.process(record, async ({ value }, { client }) => {
        const payment = readPayment(value);
        const refusal = await applyPayment(client, payment);
        if (refusal !== null) await refuse(client, placeOf(record), payment.paymentId, refusal);
        return { payment, refusal };
      }),
    onProcessed(record, { payment, refusal }) {
      const { paymentId, from, to, amountMinor } = payment;
      if (refusal !== null) events.emit('payment-refused', { paymentId, ...placeOf(record), reason: refusal });
      else {
        const key = keyOf(record);
        events.emit('payment-applied', { paymentId, key, ...placeOf(record), from, to, amountMinor });
      }
    },
    async putAside(record, reason) {
      const paymentId = tryPaymentId(record.value);
      await refuse(database, placeOf(record), paymentId, reason);
      events.emit('payment-refused', { paymentId, ...placeOf(record), reason });
    },
  });
}

/** The business key in the record's header, for events; the de-duplication reads it by itself. */
export function keyOf({ headers }: ConsumedRecord): string {
  return headers.find(([name]) => name === 'idempotency-key')?.[1]?.toString('utf8') ?? '';
}
