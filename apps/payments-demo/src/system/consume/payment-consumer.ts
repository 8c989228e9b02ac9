import type { Outcome } from '@sendonce/consumer-dedup';
import type { ConsumedRecord, GroupMember, InHand, PaymentsCluster } from '../cluster/payments-cluster.ts';
import type { ConsumerName, Place, SystemEventEmitter } from '../events.ts';
import { paymentsTopic, UnreadablePaymentError } from '../payment.ts';
import { pause, pauseBeforeRetryMs } from './retry-pause.ts';

export interface PaymentConsumerOptions<R> {
  readonly name: ConsumerName;
  readonly cluster: PaymentsCluster;
  readonly events: SystemEventEmitter;
  /** What `process` uses; closed with the consumer. */
  readonly dedup: { close(): Promise<void> };
  /** Processes one record, once for its business key. */
  readonly process: (record: ConsumedRecord) => Promise<Outcome<R>>;
  /** The effect of this record was done, now, for the first time. */
  readonly onProcessed: (record: ConsumedRecord, result: R) => void;
  /** Puts a record aside that can never be processed: no key, the key of another payment, or nothing that can be read. */
  readonly putAside: (record: ConsumedRecord, reason: string) => Promise<void>;
}

/** What a store may take to answer. Shorter than the group's patience with a member that is silent. */
export const storeTimeoutMs = 5_000;

/** Thrown where a real process would have died: after the effect, before the commit. */
class CrashedOnPurpose extends Error {
  override readonly name = 'CrashedOnPurpose';
}

/**
 * - `stopped`: not in the group; `start` joins it.
 * - `running`.
 * - `doomed`: dies at the next record, between its effect and the commit of its offset.
 * - `crashed`: dead; `start` brings it back.
 */
export type ConsumerState = 'stopped' | 'running' | 'doomed' | 'crashed';

/** Reads payments and has each processed. A record is left behind only when it is dealt with: while its database is down, the consumer waits. */
export class PaymentConsumer<R> {
  readonly #options: PaymentConsumerOptions<R>;
  #state: ConsumerState = 'stopped';
  #member: GroupMember | null = null;
  #crash = Promise.withResolvers<void>();

  constructor(options: PaymentConsumerOptions<R>) {
    this.#options = options;
  }

  get state(): ConsumerState {
    return this.#state;
  }

  /** Joins the group, for the first time or again. Nothing happens while it is in it. */
  async start(): Promise<void> {
    if (this.#state === 'running' || this.#state === 'doomed') return;
    const { cluster, name, events } = this.#options;
    this.#state = 'running';
    this.#crash = Promise.withResolvers();
    try {
      this.#member = await cluster.join(name, paymentsTopic, (record, inHand) => this.#handle(record, inHand));
    } catch (error) {
      this.#state = 'stopped';
      throw error;
    }
    events.emit('consumer-started', { consumer: name });
  }

  /** Dies at the next record. Resolves when it is dead, or closed before. */
  async crash(): Promise<void> {
    if (this.#state === 'running') this.#state = 'doomed';
    if (this.#state === 'doomed') await this.#crash.promise;
  }

  /** Finishes the record in hand, commits, leaves the group; for good. */
  async close(): Promise<void> {
    await this.#member?.close();
    await this.#options.dedup.close();
    this.#member = null;
    this.#state = 'stopped';
    this.#crash.resolve();
  }

  async #handle(record: ConsumedRecord, inHand: InHand): Promise<void> {
    const { name, events } = this.#options;
    if (this.#state === 'crashed') throw new CrashedOnPurpose();
    await this.#processUntilDone(record, inHand);
    if (this.#state !== 'doomed') return;
    this.#state = 'crashed';
    events.emit('consumer-crashed', { consumer: name, ...placeOf(record) });
    this.#crash.resolve();
    throw new CrashedOnPurpose();
  }

  async #processUntilDone(record: ConsumedRecord, { signal, heartbeat }: InHand): Promise<void> {
    const { name, events } = this.#options;
    const of = { consumer: name, ...placeOf(record) };
    for (let failures = 0; ; ) {
      const problem = await this.#process(record);
      if (problem === null) {
        if (failures > 0) events.emit('consumer-resumed', of);
        return;
      }
      const retryInMs = pauseBeforeRetryMs(++failures);
      events.emit('consumer-paused', { ...of, reason: problem, retryInMs });
      await pause(retryInMs, signal);
      await heartbeat();
    }
  }

  /** Null when the record is dealt with, else why it is not. */
  async #process(record: ConsumedRecord): Promise<string | null> {
    const { process, onProcessed, putAside } = this.#options;
    const outcome = await process(record);
    this.#tell(record, outcome);
    if (outcome.status === 'processed') onProcessed(record, outcome.result);
    if (outcome.status === 'processed' || outcome.status === 'duplicate') return null;
    const reason = outcome.status === 'conflict' ? 'its key belongs to another payment' : messageOf(outcome.error);
    if (!isHopeless(outcome)) return reason;
    try {
      await putAside(record, reason);
      return null;
    } catch (failure) {
      return messageOf(failure);
    }
  }

  #tell(record: ConsumedRecord, outcome: Outcome): void {
    const { name, events } = this.#options;
    const { status, key } = outcome;
    events.emit('message-outcome', {
      consumer: name,
      ...placeOf(record),
      key: key === null ? null : key.toString('utf8'),
      status,
      firstOffset: status === 'duplicate' || status === 'conflict' ? outcome.first.source.offset : null,
    });
  }
}

/** No retry will change it. */
function isHopeless(outcome: Outcome): boolean {
  if (outcome.status !== 'failed') return outcome.status === 'conflict';
  return outcome.reason === 'message' || outcome.error instanceof UnreadablePaymentError;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function placeOf({ topic, partition, offset }: ConsumedRecord): Place {
  return { topic, partition, offset };
}
