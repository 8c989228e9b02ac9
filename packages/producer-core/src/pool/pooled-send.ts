import { ownRecord } from '../accumulator/waiting-record.ts';
import type { Producer } from '../producer.ts';
import type { ProducerRecord, RecordMetadata } from '../record.ts';
import { Deadline } from '../sender/deadline-queue.ts';

/** Where sends wait. */
export interface WaitingPlace {
  /** For the error of one that waited too long. */
  readonly waitsFor: string;
  readonly timeoutCode: string;
  /** It no longer waits. */
  forget(send: PooledSend): void;
}

/** The pool, as its waiting sends see it. */
export interface PooledSendOwner {
  onLeft(send: PooledSend): void;
  onWaitedTooLong(send: PooledSend): void;
}

/** A send that no producer can take yet. The record's bytes are its own: they belong to the call. */
export class PooledSend extends Deadline {
  readonly result: Promise<RecordMetadata>;
  /** Resolves when it is handed over, or has failed. */
  readonly left: Promise<void>;
  /** With its partition once that is known. */
  record: ProducerRecord;
  /** Whether a producer has checked the record and read its idempotency key: once is enough. */
  isRouted: boolean;
  place: WaitingPlace | null = null;
  isWaiting = true;
  readonly #signal: AbortSignal | undefined;
  readonly #owner: PooledSendOwner;
  readonly #resolve: (metadata: RecordMetadata | Promise<RecordMetadata>) => void;
  readonly #reject: (error: unknown) => void;
  readonly #leave: () => void;

  constructor(
    record: ProducerRecord,
    isRouted: boolean,
    timestamp: number,
    signal: AbortSignal | undefined,
    owner: PooledSendOwner,
  ) {
    super();
    this.record = ownRecord(record, timestamp);
    this.isRouted = isRouted;
    this.#signal = signal;
    this.#owner = owner;
    const result = Promise.withResolvers<RecordMetadata>();
    const left = Promise.withResolvers<void>();
    this.result = result.promise;
    this.left = left.promise;
    this.#resolve = result.resolve;
    this.#reject = result.reject;
    this.#leave = left.resolve;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** The producer goes on with it. */
  handTo(producer: Producer): void {
    if (!this.isWaiting) return;
    const { record, isRouted } = this;
    this.#stopWaiting();
    const signal = this.#signal;
    if (isRouted) this.#resolve(producer.sendRouted(record, signal));
    else this.#resolve(producer.send(record, signal === undefined ? undefined : { signal }));
  }

  fail(error: unknown): void {
    if (!this.isWaiting) return;
    this.#stopWaiting();
    this.#reject(error);
  }

  onDue(): void {
    this.#owner.onWaitedTooLong(this);
  }

  readonly #onAbort = (): void => this.fail(this.#signal!.reason);

  #stopWaiting(): void {
    this.isWaiting = false;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.place?.forget(this);
    this.#owner.onLeft(this);
    this.#leave();
  }
}
