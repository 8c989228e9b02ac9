import { ProtocolError, SendonceError, TransportError } from '../errors.ts';
import type { ProducerIdRequest } from '../observe/hooks.ts';
import type { Observer } from '../observe/observer.ts';
import type { Runtime } from '../runtime.ts';
import type { ProducerIdentity, Transport } from '../transport/transport.ts';
import type { DeadlineQueue } from './deadline-queue.ts';
import { CallbackDeadline } from './deadline-queue.ts';
import { isRetriableForIdentity } from './reply-table.ts';
import { backoffMs, type RetryPolicyOptions } from './retry-policy.ts';

/** Without idempotence, batches carry these. */
const noIdentity: ProducerIdentity = { producerId: -1n, epoch: -1 };

/** The producer's id: asked for at the start, and again when a partition has used up its epochs (C10). */
export class Identity {
  current: ProducerIdentity = noIdentity;
  readonly #transport: Transport;
  readonly #runtime: Runtime;
  readonly #deadlines: DeadlineQueue;
  readonly #retries: RetryPolicyOptions;
  readonly #observer: Observer;
  #asking: Promise<ProducerIdentity> | null = null;

  constructor(
    transport: Transport,
    runtime: Runtime,
    deadlines: DeadlineQueue,
    retries: RetryPolicyOptions,
    observer: Observer,
  ) {
    this.#transport = transport;
    this.#runtime = runtime;
    this.#deadlines = deadlines;
    this.#retries = retries;
    this.#observer = observer;
  }

  /** An id that is not `used`: the current one when it is another, else a new one. One question for all who ask. */
  async after(used: bigint, signal: AbortSignal): Promise<ProducerIdentity> {
    if (this.current.producerId !== used) return this.current;
    this.#asking ??= this.#ask('epochs-used-up', Number.POSITIVE_INFINITY, signal).finally(() => {
      this.#asking = null;
    });
    return await this.#asking;
  }

  /** The first id, asked for until `maxBlockMs` has passed. */
  async first(maxBlockMs: number, signal: AbortSignal): Promise<void> {
    await this.#ask('start', this.#runtime.monotonicMs() + maxBlockMs, signal);
  }

  async #ask(reason: ProducerIdRequest['reason'], untilMs: number, signal: AbortSignal): Promise<ProducerIdentity> {
    for (let failures = 1; ; failures++) {
      signal.throwIfAborted();
      try {
        this.current = await this.#within(untilMs, signal, this.#askOnce(reason));
        return this.current;
      } catch (error) {
        signal.throwIfAborted();
        const pauseMs = backoffMs(this.#retries, failures, this.#runtime.random());
        const isLate = this.#runtime.monotonicMs() + pauseMs > untilMs;
        if (!isTransient(error) || isLate) throw this.#failed(error, isLate);
        await this.#pause(pauseMs, signal);
      }
    }
  }

  async #askOnce(reason: ProducerIdRequest['reason']): Promise<ProducerIdentity> {
    const request = this.#observer.producerIdRequested(reason, this.#runtime.monotonicMs());
    const answered = (identity: ProducerIdentity | null, error: Error | null): void =>
      this.#observer.producerIdAnswered(request, { endedAtMs: this.#runtime.monotonicMs(), identity, error });
    try {
      const identity = await this.#transport.initProducerId();
      answered(identity, null);
      return identity;
    } catch (error) {
      answered(null, error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  #failed(error: unknown, isLate: boolean): Error {
    if (!isLate && error instanceof SendonceError) return error;
    const problem = error instanceof Error ? error.message : String(error);
    return new SendonceError(
      `No producer id${isLate ? ' within maxBlockMs' : ''}: ${problem} Check that the cluster is up and allows idempotent writes.`,
      { code: 'NO_PRODUCER_ID', retriable: isLate, cause: error },
    );
  }

  /** The answer, unless time is up or nobody wants it any more: a request has a time limit of its own, which may be longer. */
  #within<T>(untilMs: number, signal: AbortSignal, answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      const deadline = new CallbackDeadline(() =>
        reject(new TransportError('The request was not answered in time.', { sent: 'maybe', code: 'REQUEST_TIMEOUT' })),
      );
      if (untilMs < Number.POSITIVE_INFINITY) this.#deadlines.set(deadline, untilMs);
      signal.addEventListener('abort', onAbort, { once: true });
      answer.then(resolve, reject).finally(() => {
        this.#deadlines.remove(deadline);
        signal.removeEventListener('abort', onAbort);
      });
    });
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#deadlines.remove(deadline);
        reject(signal.reason);
      };
      const deadline = new CallbackDeadline(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      this.#deadlines.set(deadline, this.#runtime.monotonicMs() + ms);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof ProtocolError) return isRetriableForIdentity(error.errorCode);
  return error instanceof TransportError && error.retriable;
}
