import type { ProducerRecord } from '@sendonce/producer-core';

/** What a client asks for. Amounts are whole minor units (cents): money is never a fraction in here. */
export interface PaymentOrder {
  readonly from: string;
  readonly to: string;
  readonly amountMinor: number;
  readonly currency: 'EUR';
}

/** An order under the id that we gave it. */
export interface Payment extends PaymentOrder {
  readonly paymentId: string;
}

export const paymentsTopic = 'payments';
export const paymentsPartitions = 3;
/** Ten million euros. Far below where a sum of such payments would stop being an exact number. */
export const amountMinorMax = 1_000_000_000;

const fields = ['paymentId', 'from', 'to', 'amountMinor', 'currency'] as const;

/**
 * The record of a payment. Sent again it is the same bytes, so that a consumer can tell a repeat from another payment under the
 * same key. The payer's account decides the partition: payments of one account keep their order.
 */
export function paymentRecord(payment: Payment, idempotencyKey: string): ProducerRecord {
  return {
    topic: paymentsTopic,
    key: payment.from,
    value: JSON.stringify(payment, [...fields]),
    headers: { 'idempotency-key': idempotencyKey },
  };
}

/** The record's value is not a payment. No retry will change that. */
export class UnreadablePaymentError extends Error {
  override readonly name = 'UnreadablePaymentError';
}

/** @throws {UnreadablePaymentError} */
export function readPayment(value: Uint8Array | null): Payment {
  const payment = parse(value);
  const { paymentId, from, to, amountMinor, currency } = payment;
  const isPayment =
    typeof paymentId === 'string' &&
    typeof from === 'string' &&
    typeof to === 'string' &&
    from !== to &&
    Number.isInteger(amountMinor) &&
    (amountMinor as number) >= 1 &&
    (amountMinor as number) <= amountMinorMax &&
    currency === 'EUR';
  if (!isPayment) throw new UnreadablePaymentError('The record holds JSON, and not that of a payment.');
  return { paymentId, from, to, amountMinor: amountMinor as number, currency };
}

/** Null for a value that is not a payment. */
export function tryPaymentId(value: Uint8Array | null): string | null {
  try {
    return readPayment(value).paymentId;
  } catch {
    return null;
  }
}

function parse(value: Uint8Array | null): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(value ?? []).toString('utf8'));
    if (typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new UnreadablePaymentError('The record’s value is not a JSON object.');
}
