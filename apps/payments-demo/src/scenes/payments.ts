import type { ProducerRecord } from '@sendonce/producer-core';

export const topic = 'payments';

/** The nth payment as a service would send it. Its id is the business key by which a consumer can tell a repeat. */
export function payment(number: number, partition = 0): ProducerRecord {
  const paymentId = `payment-${number}`;
  return {
    topic,
    partition,
    key: `account-${number % 100}`,
    value: JSON.stringify({ paymentId, amount: '20.00', currency: 'EUR' }),
    headers: { 'idempotency-key': paymentId },
  };
}

/** Payments `first` to `last`. */
export function payments(first: number, last: number, partition = 0): ProducerRecord[] {
  return Array.from({ length: last - first + 1 }, (_, index) => payment(first + index, partition));
}

/** The id in a stored payment's value. */
export function paymentIdOf(value: Uint8Array): string {
  return (JSON.parse(Buffer.from(value).toString('utf8')) as { paymentId: string }).paymentId;
}
