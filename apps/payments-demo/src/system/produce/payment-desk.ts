import { randomUUID } from 'node:crypto';
import { DeliveryError, type RecordMetadata } from '@sendonce/producer-core';
import type { Place, SystemEventEmitter } from '../events.ts';
import { type Payment, type PaymentOrder, paymentRecord } from '../payment.ts';
import { AccountUnknownError, KeyReusedError, SameAccountError, UnavailableError } from './payment-errors.ts';
import type { PaymentProducer } from './payment-producer.ts';
import { type PaymentRequest, type PaymentRequests, UnknownAccountError } from './payment-requests.ts';

export interface Acceptance {
  readonly payment: Payment;
  /** The same request had been answered before, or was on its way. */
  readonly replayed: boolean;
}

/**
 * Takes payments in. "Accepted" means stored: the answer is given after the broker's acknowledgement and after it is written down, in
 * this order:
 *
 *  1. the request is noted under its key, with the payment's id;
 *  2. the record is sent, with the key in its header, and acknowledged by all in-sync replicas;
 *  3. the request is marked as accepted;
 *  4. the client is told.
 *
 * Whatever fails in between, the client hears 503 and sends the same again. A request that is marked gets its answer at once. One that
 * is not is sent again, under the same id and key: perhaps it is stored twice then, and the ledger's de-duplication applies it once.
 */
export class PaymentDesk {
  readonly #requests: PaymentRequests;
  readonly #producer: PaymentProducer;
  readonly #events: SystemEventEmitter;
  /** Repeats that come while the first is on its way wait for the same answer. Bounded by the requests that are open. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(requests: PaymentRequests, producer: PaymentProducer, events: SystemEventEmitter) {
    this.#requests = requests;
    this.#producer = producer;
    this.#events = events;
  }

  /** @throws {PaymentError} */
  async pay(order: PaymentOrder, key: string): Promise<Acceptance> {
    if (order.from === order.to) throw new SameAccountError();
    const request = await this.#note(order, key);
    if (!isSameOrder(request.payment, order)) throw new KeyReusedError();
    const { payment } = request;
    const running = this.#underWay.get(key);
    const replayed = request.isAccepted || running !== undefined;
    if (!request.isAccepted) await (running ?? this.#acceptOnce(request));
    this.#events.emit('payment-accepted', { paymentId: payment.paymentId, key, replayed });
    return { payment, replayed };
  }

  /** Sends a payment again, as an application does that does not know whether it had: with the same key, whatever was answered. */
  async resend(key: string): Promise<Place> {
    const request = await this.#requests.find(key);
    if (request === null) throw new Error(`No payment was requested with the key ${key}.`);
    return this.#store(request);
  }

  async #note(order: PaymentOrder, key: string): Promise<PaymentRequest> {
    try {
      return await this.#requests.open(key, randomUUID(), order);
    } catch (error) {
      if (error instanceof UnknownAccountError) throw new AccountUnknownError(error.message);
      throw new UnavailableError('DATABASE_UNAVAILABLE', error);
    }
  }

  async #acceptOnce(request: PaymentRequest): Promise<void> {
    const accepting = this.#accept(request).finally(() => this.#underWay.delete(request.key));
    this.#underWay.set(request.key, accepting);
    await accepting;
  }

  async #accept(request: PaymentRequest): Promise<void> {
    await this.#store(request);
    try {
      await this.#requests.accept(request.key);
    } catch (error) {
      throw new UnavailableError('DATABASE_UNAVAILABLE', error);
    }
  }

  async #store({ payment, key }: PaymentRequest): Promise<Place> {
    const { paymentId } = payment;
    let stored: RecordMetadata;
    try {
      stored = await this.#producer.send(paymentRecord(payment, key));
    } catch (error) {
      const fate = error instanceof DeliveryError ? error.fate : 'not-stored';
      this.#events.emit('payment-failed', { paymentId, key, fate, reason: (error as Error).message });
      throw new UnavailableError('KAFKA_UNAVAILABLE', error);
    }
    const { topic, partition, offset } = stored;
    this.#events.emit('payment-stored', { paymentId, key, topic, partition, offset });
    return { topic, partition, offset };
  }
}

function isSameOrder(one: PaymentOrder, other: PaymentOrder): boolean {
  return (
    one.from === other.from &&
    one.to === other.to &&
    one.amountMinor === other.amountMinor &&
    one.currency === other.currency
  );
}
