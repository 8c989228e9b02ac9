import { DeliveryError, type ProducerRecord, type RecordMetadata, type SendonceError } from '@sendonce/producer-core';
import type { SentPayment } from '../audit/audit.ts';

/** One run of the payment service, from its start to its end: what the broker takes for one producer. */
export interface ServiceSession {
  readonly session: string;
  readonly send: (record: ProducerRecord) => Promise<RecordMetadata>;
}

export interface PaymentStream {
  readonly topic: string;
  /** Numbers of the payments to send. */
  readonly numbers: readonly number[];
  /** Called after each send, with how many went out: the rate is the caller's. */
  readonly afterEach: (sent: number) => Promise<void>;
}

const accounts = 500;

/** Sends payments without waiting for answers in between, then waits for all, and notes what became of each. */
export async function sendPayments(
  { session, send }: ServiceSession,
  { topic, numbers, afterEach }: PaymentStream,
): Promise<SentPayment[]> {
  const sending: Promise<SentPayment>[] = [];
  for (const number of numbers) {
    const paymentId = `payment-${number}`;
    const record = {
      topic,
      key: `account-${number % accounts}`,
      value: JSON.stringify({ paymentId, amount: '20.00', currency: 'EUR' }),
      headers: { 'idempotency-key': paymentId, session },
    };
    sending.push(
      send(record).then(
        (place) => acknowledged(paymentId, place),
        (error) => failed(paymentId, error),
      ),
    );
    await afterEach(sending.length);
  }
  return Promise.all(sending);
}

function acknowledged(paymentId: string, { partition, offset }: RecordMetadata): SentPayment {
  return { paymentId, outcome: 'acknowledged', partition, offset };
}

/** Errors that are no `DeliveryError` come before anything was kept of the record. */
function failed(paymentId: string, error: SendonceError): SentPayment {
  return { paymentId, outcome: error instanceof DeliveryError ? error.fate : 'not-stored' };
}
