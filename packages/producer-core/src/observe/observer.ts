import type { ProducerBatch } from '../accumulator/batch.ts';
import type { Attempt } from '../sender/attempt.ts';
import type {
  AttemptInfo,
  AttemptOutcome,
  BatchInfo,
  BatchOutcome,
  ProducerEvent,
  ProducerHooks,
  ProducerLogger,
} from './hooks.ts';

/** Calls hooks and logger, and survives them: their failures are counted (`hookFailures`) and go no further. */
export class Observer {
  hookFailures = 0;
  unheardFailures = 0;
  readonly #hooks: ProducerHooks;
  readonly #logger: ProducerLogger | undefined;
  readonly #attempts = new WeakMap<Attempt, AttemptInfo>();

  constructor(hooks: ProducerHooks, logger: ProducerLogger | undefined) {
    this.#hooks = hooks;
    this.#logger = logger;
  }

  batchDrained(batch: ProducerBatch): void {
    if (this.#hooks.onBatchDrained === undefined) return;
    this.#guard(() => this.#hooks.onBatchDrained!(describe(batch)));
  }

  attemptStarted(attempt: Attempt): void {
    if (this.#hooks.onAttemptStarted === undefined && this.#hooks.onAttemptEnded === undefined) return;
    const info: AttemptInfo = {
      batch: describe(attempt.batch),
      number: attempt.number,
      brokerId: attempt.lane.brokerId,
      startedAtMs: attempt.startedAtMs,
    };
    this.#attempts.set(attempt, info);
    this.#guard(() => this.#hooks.onAttemptStarted?.(info));
  }

  get watchesAttempts(): boolean {
    return this.#hooks.onAttemptEnded !== undefined;
  }

  attemptEnded(attempt: Attempt, outcome: AttemptOutcome): void {
    const info = this.#attempts.get(attempt);
    if (info !== undefined) this.#guard(() => this.#hooks.onAttemptEnded?.(info, outcome));
  }

  get watchesBatches(): boolean {
    return this.#hooks.onBatchSettled !== undefined;
  }

  batchSettled(batch: ProducerBatch, outcome: BatchOutcome): void {
    this.#guard(() => this.#hooks.onBatchSettled?.(describe(batch), outcome));
  }

  event(event: ProducerEvent): void {
    this.#guard(() => this.#hooks.onEvent?.(event));
  }

  info(message: string): void {
    this.#guard(() => this.#logger?.info(message));
  }

  /** Without a logger a warning still reaches someone: Node prints it. */
  warn(message: string, code: string): void {
    if (this.#logger === undefined) process.emitWarning(message, { type: 'SendonceWarning', code });
    else this.#guard(() => this.#logger!.warn(message));
  }

  /** Runs a caller's callback. */
  call(callback: () => void): void {
    this.#guard(callback);
  }

  /** Records failed and nobody listens: said all the same. */
  unheard(topic: string, partition: number, records: number, error: Error): void {
    this.unheardFailures += records;
    this.event({ type: 'unheard-failures', topic, partition, records, error });
  }

  readonly callbackFailed = (): void => {
    this.hookFailures++;
  };

  #guard(call: () => void): void {
    try {
      call();
    } catch {
      this.hookFailures++;
    }
  }
}

function describe(batch: ProducerBatch): BatchInfo {
  return {
    topic: batch.queue.topic.topic,
    partition: batch.queue.partition,
    recordCount: batch.recordCount,
    sizeBytes: batch.bytes.length,
    producerId: batch.producerId,
    epoch: batch.epoch,
    baseSequence: batch.baseSequence,
  };
}
