import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { PaymentOrder } from '../system/payment.ts';
import type { PaymentSystem } from '../system/payment-system.ts';

const accounts = 100;
const streamEveryMs = 100;
/** Five minutes: a stream that somebody forgot ends by itself. */
const beatsMax = 3_000;
/** The stream leaves out a beat while more than this are waiting for their answer. */
const waitingMax = 300;
/** Payments whose sender was told “unknown” and that can be asked for again. */
const unansweredMax = 100;

interface Sent {
  readonly order: PaymentOrder;
  readonly key: string;
}

/** The client of the payment system whose buttons are on the page: it sends, notes what it was told, and sends again. */
export class PaymentsAtHand {
  readonly #system: Pick<PaymentSystem, 'pay' | 'resend'>;
  readonly #onChange: () => void;
  readonly #run = randomUUID().slice(0, 8);
  #sent = 0;
  #waiting = 0;
  #last: Sent | null = null;
  #unanswered: Sent[] = [];
  #stream: NodeJS.Timeout | null = null;
  #beats = 0;

  constructor(system: Pick<PaymentSystem, 'pay' | 'resend'>, onChange: () => void) {
    this.#system = system;
    this.#onChange = onChange;
  }

  /** Payments that were sent and not answered so far. */
  get waiting(): number {
    return this.#waiting;
  }

  get isStreaming(): boolean {
    return this.#stream !== null;
  }

  get hasSent(): boolean {
    return this.#last !== null;
  }

  send(count: number): void {
    for (let sent = 0; sent < count; sent += 1) void this.#pay(this.#next());
  }

  /**
   * All from one account, so that they go to one partition, and far enough apart to be batches of their own. The first is answered
   * before the others leave: until then its partition has one batch in flight (rule C7). Resolves when all are answered.
   */
  async sendApart(count: number, everyMs: number, onFirstAnswered: () => void): Promise<void> {
    const { order, key } = this.#next();
    await this.#pay({ order, key });
    onFirstAnswered();
    const others = [];
    for (let sent = 1; sent < count; sent += 1) {
      others.push(this.#pay({ ...this.#next(), order }));
      await setTimeout(everyMs);
    }
    await Promise.all(others);
  }

  toggleStream(): void {
    if (this.#stream !== null) {
      this.stopStream();
      return;
    }
    this.#beats = 0;
    this.#stream = setInterval(() => this.#beat(), streamEveryMs);
  }

  stopStream(): void {
    if (this.#stream !== null) clearInterval(this.#stream);
    this.#stream = null;
  }

  /** Payments without an answer are asked for again, with their keys. When there are none, the last one is stored again. */
  sendAgain(): void {
    const unanswered = this.#unanswered.splice(0);
    for (const sent of unanswered) void this.#pay(sent);
    if (unanswered.length > 0 || this.#last === null) return;
    const { key } = this.#last;
    void this.#answered(this.#system.resend(key));
  }

  #beat(): void {
    this.#beats += 1;
    if (this.#beats >= beatsMax) this.stopStream();
    if (this.#waiting < waitingMax) this.send(1);
  }

  #next(): Sent {
    const number = this.#sent++;
    const from = (number * 7) % accounts;
    const order = {
      from: `account-${from}`,
      to: `account-${(from + 13) % accounts}`,
      amountMinor: 500 + ((number * 137) % 9_500),
      currency: 'EUR',
    } as const;
    return { order, key: `page-${this.#run}-${number}` };
  }

  async #pay(sent: Sent): Promise<void> {
    this.#last = sent;
    const isAnswered = await this.#answered(this.#system.pay(sent.order, sent.key));
    if (!isAnswered && this.#unanswered.length < unansweredMax) this.#unanswered.push(sent);
  }

  /** Whether there was one. Why there was none is an event of the system, and in the timeline. */
  async #answered(answer: Promise<unknown>): Promise<boolean> {
    this.#waiting += 1;
    try {
      await answer;
      return true;
    } catch {
      return false;
    } finally {
      this.#waiting -= 1;
      this.#onChange();
    }
  }
}
