import { setTimeout as sleep } from 'node:timers/promises';
import type { Payment, PaymentOrder } from '../system/payment.ts';

/** What became of one payment, as its client sees it. */
export interface ClientPayment {
  readonly key: string;
  requests: number;
  /** Answers 503, and requests that broke. */
  setbacks: number;
  /** The id it was told; null while it is not accepted. */
  paymentId: string | null;
}

const retryPauseMs = 300;
const requestTimeoutMs = 15_000;
const openMax = 1_000;
const accountsCount = 100;
/** Every so many, an application sends an accepted payment to Kafka once more, as one does that was restarted and does not know. */
const resendEvery = 25;
/** Every so many, a client asks again after it was told, as one does that lost the answer. */
const askAgainEvery = 10;

/** Clients that pay at a steady rate, and that send the same again, with the same key, until they are told that it is accepted. */
export class Clients {
  readonly payments: ClientPayment[] = [];
  /** What should never happen: another answer to the same request, a refusal. */
  readonly complaints: string[] = [];
  /** Records that were sent once more, and acknowledged. */
  resent = 0;
  readonly #url: string;
  readonly #run: string;
  readonly #resend: (payment: Payment, key: string) => Promise<unknown>;
  readonly #open = new Set<Promise<void>>();
  #isStopped = false;
  #lastAcceptedMs = performance.now();
  #longestGapMs = 0;

  constructor(url: string, run: string, resend: (payment: Payment, key: string) => Promise<unknown>) {
    this.#url = url;
    this.#run = run;
    this.#resend = resend;
  }

  get accepted(): ClientPayment[] {
    return this.payments.filter(({ paymentId }) => paymentId !== null);
  }

  /** Longest time without an acceptance since it was asked last. */
  takeLongestGapMs(): number {
    const gapMs = Math.max(this.#longestGapMs, performance.now() - this.#lastAcceptedMs);
    this.#longestGapMs = 0;
    return gapMs;
  }

  /** Begins payments until it is stopped. A client waits its turn when too many are open. */
  async begin(perSecond: number): Promise<void> {
    const startMs = performance.now();
    for (let begun = 0; !this.#isStopped; begun++) {
      const dueMs = startMs + (begun * 1_000) / perSecond;
      await sleep(Math.max(0, dueMs - performance.now()));
      while (this.#open.size >= openMax) await Promise.race(this.#open);
      const open: Promise<void> = this.#pay(begun).finally(() => this.#open.delete(open));
      this.#open.add(open);
    }
  }

  /** Begins no more, and waits until every client was told. */
  async finish(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#open);
  }

  async #pay(number: number): Promise<void> {
    const payment: ClientPayment = { key: `${this.#run}-${number}`, requests: 0, setbacks: 0, paymentId: null };
    this.payments.push(payment);
    const order: PaymentOrder = {
      from: `account-${number % accountsCount}`,
      to: `account-${(number * 7 + 1) % accountsCount}`,
      amountMinor: 1 + (number % 500),
      currency: 'EUR',
    };
    const body = JSON.stringify(order);
    const paymentId = await this.#askUntilTold(payment, body);
    payment.paymentId = paymentId;
    const nowMs = performance.now();
    this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#lastAcceptedMs);
    this.#lastAcceptedMs = nowMs;
    if (number % resendEvery === 0) {
      const stored = await this.#resend({ ...order, paymentId }, payment.key).catch(() => null);
      if (stored !== null) this.resent++;
    }
    if (number % askAgainEvery !== 0) return;
    const again = await this.#askUntilTold(payment, body);
    if (again !== paymentId) {
      this.complaints.push(`${payment.key} was ${paymentId} first, and ${again} when asked again`);
    }
  }

  async #askUntilTold(payment: ClientPayment, body: string): Promise<string> {
    for (;;) {
      payment.requests++;
      const paymentId = await this.#ask(payment.key, body);
      if (paymentId !== null) return paymentId;
      payment.setbacks++;
      await sleep(retryPauseMs);
    }
  }

  /** Null when it may be asked again. */
  async #ask(key: string, body: string): Promise<string | null> {
    try {
      const response = await fetch(`${this.#url}/payments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body,
        signal: AbortSignal.timeout(requestTimeoutMs),
      });
      const answer = (await response.json()) as { paymentId?: string };
      if (response.status === 201 && answer.paymentId !== undefined) return answer.paymentId;
      if (response.status !== 503) this.complaints.push(`${key}: ${response.status} ${JSON.stringify(answer)}`);
    } catch {
      // The connection broke, or no answer came: nobody knows whether it is accepted.
    }
    return null;
  }
}
