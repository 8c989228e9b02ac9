import type { ProducerBatch } from '../accumulator/batch.ts';
import { checkHeaders, type ProducerRecord, type RecordHeaders, type RecordMetadata } from '../record.ts';
import type { Attempt } from '../sender/attempt.ts';
import { BatchView } from './batch-view.ts';
import type {
  AttemptInfo,
  AttemptOutcome,
  BatchInfo,
  BatchOutcome,
  ProducerEvent,
  ProducerHooks,
  ProducerIdOutcome,
  ProducerIdRequest,
  ProducerInfo,
  ProducerLogger,
  RecordWatch,
} from './hooks.ts';

/** Calls hooks and logger, and survives them: their failures are counted (`hookFailures`) and go no further. */
export class Observer {
  hookFailures = 0;
  unheardFailures = 0;
  recordsRefused = 0;
  /** Asked once a record, so it is a field. */
  readonly watchesRecords: boolean;
  readonly #hooks: ProducerHooks;
  readonly #logger: ProducerLogger | undefined;
  readonly #producer: ProducerInfo;

  constructor(hooks: ProducerHooks, logger: ProducerLogger | undefined, producer: ProducerInfo) {
    this.#hooks = hooks;
    this.#logger = logger;
    this.#producer = producer;
    this.watchesRecords = hooks.onRecord !== undefined;
  }

  producerStarted(): void {
    this.#guard(() => this.#hooks.onProducerStarted?.(this.#producer));
  }

  producerClosed(): void {
    this.#guard(() => this.#hooks.onProducerClosed?.(this.#producer));
  }

  producerIdRequested(reason: ProducerIdRequest['reason'], startedAtMs: number): ProducerIdRequest {
    const request: ProducerIdRequest = { producer: this.#producer, reason, startedAtMs };
    this.#guard(() => this.#hooks.onProducerIdRequested?.(request));
    return request;
  }

  producerIdAnswered(request: ProducerIdRequest, outcome: ProducerIdOutcome): void {
    this.#guard(() => this.#hooks.onProducerIdAnswered?.(request, outcome));
  }

  /** Called in the caller's async context. `null` when no hook goes on with the record. */
  record(record: ProducerRecord): RecordWatch | null {
    try {
      const watch = this.#hooks.onRecord!(record, this.#producer);
      if (watch instanceof Promise) this.#catch(watch);
      return typeof watch === 'object' && watch !== null ? watch : null;
    } catch {
      this.hookFailures++;
      return null;
    }
  }

  /** Whether a hook wants to hear of the record again. */
  hears(watch: RecordWatch): boolean {
    try {
      return watch.onSettled !== undefined || watch.onDrained !== undefined;
    } catch {
      this.hookFailures++;
      return false;
    }
  }

  /** The headers that a hook wants, if they can be written. */
  headersOf(watch: RecordWatch): RecordHeaders | undefined {
    try {
      const { headers } = watch;
      if (headers !== undefined) checkHeaders(headers);
      return headers;
    } catch {
      this.hookFailures++;
      return undefined;
    }
  }

  recordSettled(watch: RecordWatch, error: Error | null, metadata: RecordMetadata | null): void {
    this.#guard(() => watch.onSettled?.(error, metadata));
  }

  recordRefused(topic: string | null, error: Error): void {
    this.recordsRefused++;
    this.#guard(() => this.#hooks.onRecordRefused?.(topic, error, this.#producer));
  }

  batchDrained(batch: ProducerBatch): void {
    if (this.watchesRecords) {
      batch.eachWatched((watch) => {
        if (watch.onDrained !== undefined) this.#guard(() => watch.onDrained!(this.#view(batch)));
      });
    }
    if (this.#hooks.onBatchDrained === undefined) return;
    this.#guard(() => this.#hooks.onBatchDrained!(this.#view(batch)));
  }

  batchSplit(batch: ProducerBatch, parts: readonly ProducerBatch[]): void {
    if (this.#hooks.onBatchSplit === undefined) return;
    this.#guard(() =>
      this.#hooks.onBatchSplit!(
        this.#view(batch),
        parts.map((part) => this.#view(part)),
      ),
    );
  }

  attemptStarted(attempt: Attempt): void {
    if (this.#hooks.onAttemptStarted === undefined && this.#hooks.onAttemptEnded === undefined) return;
    const info: AttemptInfo = {
      batch: this.#view(attempt.batch),
      number: attempt.number,
      brokerId: attempt.lane.brokerId,
      startedAtMs: attempt.startedAtMs,
    };
    attempt.view = info;
    this.#guard(() => this.#hooks.onAttemptStarted?.(info));
  }

  get watchesAttempts(): boolean {
    return this.#hooks.onAttemptEnded !== undefined;
  }

  attemptEnded(attempt: Attempt, outcome: AttemptOutcome): void {
    const info = attempt.view;
    if (info !== null) this.#guard(() => this.#hooks.onAttemptEnded?.(info, outcome));
  }

  get watchesBatches(): boolean {
    return this.#hooks.onBatchSettled !== undefined;
  }

  batchSettled(batch: ProducerBatch, outcome: BatchOutcome): void {
    this.#guard(() => this.#hooks.onBatchSettled?.(this.#view(batch), outcome));
  }

  event(event: ProducerEvent): void {
    this.#guard(() => this.#hooks.onEvent?.(event, this.#producer));
  }

  info(message: string): void {
    this.#guard(() => this.#logger?.info(message));
  }

  /** Without a logger a warning still reaches someone: Node prints it. */
  warn(message: string, code: string): void {
    if (this.#logger === undefined) process.emitWarning(message, { type: 'SendonceWarning', code });
    else this.#guard(() => this.#logger!.warn(message));
  }

  /** Records failed and nobody listens: said all the same. */
  unheard(topic: string, partition: number, records: number, error: Error): void {
    this.unheardFailures += records;
    this.event({ type: 'unheard-failures', topic, partition, records, error });
  }

  readonly callbackFailed = (): void => {
    this.hookFailures++;
  };

  #view(batch: ProducerBatch): BatchInfo {
    batch.view ??= new BatchView(batch, this.#producer);
    return batch.view;
  }

  #guard(call: () => unknown): void {
    try {
      const returned = call();
      if (returned instanceof Promise) this.#catch(returned);
    } catch {
      this.hookFailures++;
    }
  }

  /** An async hook is not waited for; its rejection must not become an unhandled one. */
  #catch(promise: Promise<unknown>): void {
    promise.catch(this.callbackFailed);
  }
}
