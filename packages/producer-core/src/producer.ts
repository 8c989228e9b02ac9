import { Accumulator } from './accumulator/accumulator.ts';
import type { PartitionQueue, PartitionQueueOwner } from './accumulator/partition-queue.ts';
import type { CallSettler, OnSettled, SettlerFirst, SettlerSecond } from './accumulator/settler.ts';
import {
  type CloseOptions,
  type CreateProducerOptions,
  readSignal,
  readTimeoutMs,
  type SendOptions,
} from './call-options.ts';
import { type ChurnWatch, processChurn } from './churn.ts';
import {
  ConfigError,
  DeliveryError,
  ProducerClosedError,
  ProducerFencedError,
  SendBatchError,
  type SendBatchResult,
  SendonceError,
} from './errors.ts';
import { type Guarantees, guaranteesOf, startupReport } from './guarantees.ts';
import { withIdempotencyKey } from './idempotency-key.ts';
import { MetadataRefresher } from './metadata/metadata-refresher.ts';
import { TopicDirectory } from './metadata/topic-directory.ts';
import { Observer } from './observe/observer.ts';
import { takeWatched } from './observe/watched-record.ts';
import { type ProducerOptions, type ResolvedOptions, resolveOptions } from './options.ts';
import { outsideCallers } from './outside-callers.ts';
import { checkRecord, type ProducerRecord, type RecordMetadata, refusalOf, topicOf } from './record.ts';
import { type CompressionCodec, loadCodec } from './record-batch/index.ts';
import { CallbackDeadline, DeadlineQueue } from './sender/deadline-queue.ts';
import { Identity } from './sender/identity.ts';
import { Sender } from './sender/sender.ts';
import { SenderStats } from './sender/sender-stats.ts';
import type { ProducerStats } from './stats.ts';

/**
 * - `initializing`: connecting, asking for a producer id.
 * - `ready`: takes records.
 * - `closing`: takes none, settles those it has.
 * - `closed`.
 * - `fenced`: stopped by a fatal error (C11).
 */
export type ProducerState = 'initializing' | 'ready' | 'closing' | 'closed' | 'fenced';

const transitions: Readonly<Record<ProducerState, readonly ProducerState[]>> = {
  initializing: ['ready', 'closed'],
  ready: ['closing', 'fenced'],
  closing: ['closed', 'fenced'],
  fenced: ['closed'],
  closed: [],
};

// The executor of every send's promise: one function for all, so that a send makes no closure of its own.
let capturedResolve: (metadata: RecordMetadata) => void;
let capturedReject: (error: Error) => void;
const capture = (resolve: (metadata: RecordMetadata) => void, reject: (error: Error) => void): void => {
  capturedResolve = resolve;
  capturedReject = reject;
};

/** Sends records so that each is stored once, in order, or fails with a fate. Made by {@link createProducer}. */
export class Producer implements AsyncDisposable {
  /** The settings in force and what they promise. */
  readonly guarantees: Guarantees;
  readonly #options: ResolvedOptions;
  readonly #observer: Observer;
  readonly #deadlines: DeadlineQueue;
  readonly #identity: Identity;
  readonly #accumulator: Accumulator;
  readonly #sender: Sender;
  readonly #metadata: MetadataRefresher;
  readonly #stats = new SenderStats();
  readonly #churn: ChurnWatch;
  readonly #createdAtMs: number;
  readonly #lifetime = new AbortController();
  #state: ProducerState = 'initializing';
  #fatalError: Error | null = null;
  #closing: Promise<void> | null = null;

  /** @internal Use {@link createProducer}. */
  constructor(options: ResolvedOptions, codec: CompressionCodec | null, churn: ChurnWatch) {
    const { transport, runtime, hooks, logger } = options;
    this.#options = options;
    this.#churn = churn;
    this.#createdAtMs = runtime.monotonicMs();
    this.guarantees = guaranteesOf(options);
    this.#observer = new Observer(hooks, logger, {
      clientId: options.clientId,
      guarantees: this.guarantees,
      stats: () => this.stats(),
    });
    this.#deadlines = new DeadlineQueue(runtime, outsideCallers);
    this.#identity = new Identity(transport, runtime, this.#deadlines, options, this.#observer);
    this.#sender = new Sender(
      {
        options,
        deadlines: this.#deadlines,
        observer: this.#observer,
        stats: this.#stats,
        outsideCallers,
        identity: () => this.#identity.current,
        requestIdentity: (queue) => this.#renewIdentity(queue),
        wantMetadata: (queue) => this.#metadata.want(queue.topic.topic),
        refreshMetadataIfOld: (nowMs) => this.#metadata.refreshIfOld(nowMs),
        fatal: (error) => this.#stop(error),
      },
      () => this.#accumulator,
    );
    this.#accumulator = new Accumulator(options, codec, this.#deadlines, this.#observer, outsideCallers, {
      recordAppended: (queue) => this.#sender.recordAppended(queue),
      batchReady: (queue) => this.#sender.wake(queue),
      batchFailed: (batch, error) => this.#sender.batchFailed(batch, error),
      topicWanted: (topic, isFirst) => outsideCallers(() => this.#metadata.want(topic.topic, isFirst)),
    });
    const owner: PartitionQueueOwner = {
      createSequencer: (queue) => this.#sender.createSequencer(queue),
      onDeliveryTimeout: (batch, nowMs) => this.#sender.onDeliveryTimeout(batch, nowMs),
      onLinger: (queue) => this.#sender.onLinger(queue),
      onRetryTime: (queue) => this.#sender.onRetryTime(queue),
      onResumeTime: (queue, nowMs) => this.#sender.onResumeTime(queue, nowMs),
    };
    const directory = new TopicDirectory(this.#accumulator, this.#sender, owner, this.#observer, runtime);
    this.#metadata = new MetadataRefresher(transport, runtime, this.#deadlines, options, directory);
  }

  get state(): ProducerState {
    return this.#state;
  }

  /** @internal */
  async start(signal: AbortSignal | undefined): Promise<void> {
    const { transport, maxBlockMs, idempotence, clientId } = this.#options;
    const starting = AbortSignal.any(signal === undefined ? [this.#lifetime.signal] : [this.#lifetime.signal, signal]);
    try {
      starting.throwIfAborted();
      await abortable(transport.connect(starting), starting);
      if (idempotence) await this.#identity.first(maxBlockMs, starting);
      starting.throwIfAborted();
    } catch (error) {
      this.#moveTo('closed');
      this.#release();
      await transport.close();
      throw error;
    }
    this.#moveTo('ready');
    const report = startupReport(clientId, this.guarantees);
    if (this.guarantees.exactlyOncePerSession) this.#observer.info(report);
    else this.#observer.warn(report, 'SENDONCE_WEAK_GUARANTEES');
    this.#observer.producerStarted();
  }

  /**
   * Sends one record. Resolves when it is stored as `acks` asks.
   *
   * Waits up to `maxBlockMs` for the topic's metadata and for memory, in the order of the calls. The record's bytes are taken at
   * the call; its buffers may be reused at once.
   *
   * Rejects with {@link ConfigError} (the record is wrong), {@link BufferFullError}, {@link ProducerClosedError},
   * {@link DeliveryError} or one of its kinds: its `fate` says whether the record may be stored.
   */
  send(record: ProducerRecord, options?: SendOptions): Promise<RecordMetadata> {
    const promise = new Promise<RecordMetadata>(capture);
    const resolve = capturedResolve;
    const reject = capturedReject;
    let signal: AbortSignal | undefined;
    try {
      signal = readSignal('send', options);
      this.#take(this.#check(record), resolve, reject, signal);
    } catch (error) {
      reject(this.#refused(record, error, signal));
    }
    return promise;
  }

  /** @internal `send` for a pool: the record comes from {@link route}. */
  sendRouted(record: ProducerRecord, signal: AbortSignal | undefined): Promise<RecordMetadata> {
    return new Promise((resolve, reject) => {
      try {
        this.#checkOpen();
        this.#take(record, resolve, reject, signal);
      } catch (error) {
        reject(this.#refused(record, error, signal));
      }
    });
  }

  /**
   * @internal What `send` does first, for a pool whose other producer may send the record: checks it, reads its idempotency key
   * and picks its partition. That is absent while the topic is not known; then the same again, `isChecked`, once it is.
   */
  route(record: ProducerRecord, isChecked: boolean): ProducerRecord {
    try {
      const checked = isChecked ? record : this.#check(record);
      const chosen = checked.partition ?? this.#accumulator.partitionFor(checked);
      if (chosen === null || chosen === checked.partition) return checked;
      const { topic, key, value, headers, timestamp } = checked;
      return { topic, key, value, headers, partition: chosen, timestamp };
    } catch (error) {
      throw this.#refused(record, error, undefined);
    }
  }

  /** @internal Resolves when the topic's partitions are known. Rejects as `send` would. */
  async topicKnown(topic: string): Promise<void> {
    this.#checkOpen();
    await this.#accumulator.topicKnown(this.#accumulator.topic(topic));
  }

  /**
   * Sends many records. Waits until every one is settled, then resolves with their places in the order given.
   *
   * Rejects with {@link SendBatchError} when any of them failed: its `results` has one entry per record. Others are stored.
   */
  sendBatch(records: readonly ProducerRecord[], options?: SendOptions): Promise<RecordMetadata[]> {
    return new Promise((resolve, reject) => {
      if (!Array.isArray(records)) {
        reject(new ConfigError('sendBatch needs an array of records.', ['records']));
        return;
      }
      if (records.length === 0) {
        resolve([]);
        return;
      }
      const signal = readSignal('sendBatch', options);
      const call = new BatchCall(records.length, resolve, reject);
      for (let index = 0; index < records.length; index++) {
        const record = records[index]!;
        try {
          this.#take(this.#check(record), call, index, signal);
        } catch (error) {
          call.settle(index, this.#refused(record, error, signal), null);
        }
      }
    });
  }

  /**
   * Sends one record without a promise: the fastest way. `onSettled` is called once, outside the caller's async context; one
   * that throws, or is async and rejects, is counted in `stats().hookFailures` and changes nothing else. Without it, a failure is
   * an event (`unheard-failures`) and a count in `stats()`.
   *
   * The record is taken, or an error thrown and nothing kept. Returns false when it is taken but half of `bufferMemory` is in
   * use: wait for {@link ready} before the next one.
   * @throws {ConfigError | BufferFullError | RecordTooLargeError | ProducerClosedError}
   */
  enqueue(record: ProducerRecord, onSettled?: OnSettled): boolean {
    try {
      const checked = this.#check(record);
      if (onSettled !== undefined && typeof onSettled !== 'function') {
        throw new ConfigError('enqueue’s second argument must be a function (error, metadata), or absent.', [
          'onSettled',
        ]);
      }
      if (this.#observer.watchesRecords) {
        takeWatched(this.#accumulator, this.#observer, checked, onSettled, undefined, 'now', undefined);
      } else this.#accumulator.take(checked, onSettled, undefined, 'now', undefined);
    } catch (error) {
      throw this.#refused(record, error, undefined);
    }
    return this.#accumulator.hasRoom;
  }

  /** Resolves when `enqueue` has room again, or the producer has stopped. */
  ready(): Promise<void> {
    return this.#state === 'ready' ? this.#accumulator.ready() : Promise.resolve();
  }

  /**
   * The partition a record would go to now: its own, its key's, or for records without a key the present one.
   * A promise while the topic's metadata is not known; it rejects as `send` would.
   */
  partitionFor(record: ProducerRecord): number | Promise<number> {
    const partition = this.#accumulator.partitionFor(this.#check(record));
    if (partition !== null) return partition;
    return this.#accumulator.topicKnown(this.#accumulator.topic(record.topic)).then(() => this.partitionFor(record));
  }

  /** Resolves when everything taken before the call is settled, whatever became of it. Waits no `lingerMs`. Never rejects. */
  flush(): Promise<void> {
    const flushed = this.#accumulator.flushes.flush();
    outsideCallers(() => this.#sender.flushOpen(this.#queues()));
    return flushed;
  }

  /**
   * Takes no more records, settles those it has, closes the transport. What is not settled in time rejects, record by record, with
   * its fate. May be called again: the same promise. Never rejects for what could not be delivered, only with a
   * {@link ConfigError} for options that are wrong.
   */
  close(options?: CloseOptions): Promise<void> {
    let timeoutMs: number;
    try {
      timeoutMs = readTimeoutMs(options) ?? this.#options.deliveryTimeoutMs;
    } catch (error) {
      return Promise.reject(error);
    }
    this.#closing ??= outsideCallers(() => this.#close(timeoutMs));
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Counters since the start, and gauges of now. */
  stats(): ProducerStats {
    const { answers, ...counters } = this.#stats;
    const { pool, pendingRecords, waitingRecords } = this.#accumulator;
    return {
      ...counters,
      answers: { ...answers },
      state: this.#state,
      producerId: this.#identity.current.producerId,
      pendingRecords,
      waitingRecords,
      recordsRefused: this.#observer.recordsRefused,
      bufferUsedBytes: pool.usedBytes,
      bufferLimitBytes: pool.limitBytes,
      requestsInFlight: this.#sender.requestsInFlight,
      deadlines: this.#deadlines.size,
      hookFailures: this.#observer.hookFailures,
      unheardFailures: this.#observer.unheardFailures,
    };
  }

  #moveTo(next: ProducerState): void {
    if (!transitions[this.#state].includes(next)) throw new Error(`A producer can't go from ${this.#state} to ${next}`);
    this.#state = next;
  }

  #checkOpen(): void {
    if (this.#state === 'ready') return;
    if (this.#fatalError !== null) {
      throw new ProducerClosedError(`The producer has stopped: ${this.#fatalError.message} Create a new one.`, {
        cause: this.#fatalError,
      });
    }
    throw new ProducerClosedError(`The producer is ${this.#state}. The record was not kept.`);
  }

  /** The record as it is sent. */
  #check(record: ProducerRecord): ProducerRecord {
    this.#checkOpen();
    checkRecord(record);
    const { idempotencyKey } = this.#options;
    return idempotencyKey === undefined ? record : withIdempotencyKey(record, idempotencyKey);
  }

  #take(checked: ProducerRecord, first: SettlerFirst, second: SettlerSecond, signal: AbortSignal | undefined): void {
    signal?.throwIfAborted();
    if (this.#observer.watchesRecords) {
      takeWatched(this.#accumulator, this.#observer, checked, first, second, 'wait', signal);
    } else this.#accumulator.take(checked, first, second, 'wait', signal);
  }

  #refused(record: ProducerRecord, error: unknown, signal: AbortSignal | undefined): Error {
    const refusal = refusalOf(error, signal);
    this.#observer.recordRefused(topicOf(record), refusal);
    return refusal;
  }

  *#queues(): Iterable<PartitionQueue> {
    for (const topic of this.#accumulator.topics.values()) yield* topic.queues();
  }

  async #close(timeoutMs: number): Promise<void> {
    if (this.#state === 'ready') {
      this.#moveTo('closing');
      await this.#within(timeoutMs, this.flush());
    }
    if (this.#fatalError === null) {
      // Waiting records first: the memory that failing batches give back must not let them in.
      this.#accumulator.failAllWaiting(
        (topic, partition) =>
          new DeliveryError('The producer was closed before the record could be sent. It is certainly not stored.', {
            code: 'PRODUCER_CLOSED',
            fate: 'not-stored',
            attempts: 0,
            topic,
            partition,
          }),
      );
      this.#sender.stop(this.#queues());
    }
    this.#release();
    await this.#options.transport.close();
    this.#moveTo('closed');
    this.#observer.producerClosed();
    this.#churn.closed(this.#createdAtMs, this.#options.runtime.monotonicMs(), this.#observer);
  }

  #within(timeoutMs: number, work: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const deadline = new CallbackDeadline(() => resolve());
      this.#deadlines.set(deadline, this.#options.runtime.monotonicMs() + timeoutMs);
      work.then(() => {
        this.#deadlines.remove(deadline);
        resolve();
      });
    });
  }

  /** Ends timers and questions. */
  #release(): void {
    this.#lifetime.abort(new ProducerClosedError('The producer was closed.'));
    this.#metadata.close();
    this.#deadlines.close();
  }

  /** C11, fatal: the producer stops, everything pending fails, later sends fail at once. */
  #stop(error: Error): void {
    if (this.#fatalError !== null || this.#state === 'closed') return;
    this.#fatalError = error;
    this.#moveTo('fenced');
    this.#accumulator.failAllWaiting(
      () => new ProducerClosedError(`The producer has stopped: ${error.message}`, { cause: error }),
    );
    this.#sender.stop(
      this.#queues(),
      (batch) =>
        new ProducerFencedError(error.message, {
          code: error instanceof SendonceError ? error.code : 'PRODUCER_FENCED',
          fate: batch.fate === 'not-stored' ? 'not-stored' : 'unknown',
          attempts: batch.attempts,
          topic: batch.queue.topic.topic,
          partition: batch.queue.partition,
          cause: error,
        }),
    );
    this.#observer.event({ type: 'fatal', error });
    this.#observer.warn(`The producer ${this.#options.clientId} has stopped: ${error.message}`, 'SENDONCE_FATAL');
    this.#release();
  }

  #renewIdentity(queue: PartitionQueue): void {
    this.#identity.after(queue.sequencer.producerId, this.#lifetime.signal).then(
      (identity) => this.#sender.takeIdentity(queue, identity),
      (error: unknown) => {
        if (!this.#lifetime.signal.aborted) this.#stop(error instanceof Error ? error : new Error(String(error)));
      },
    );
  }
}

/** Gathers what became of the records of one `sendBatch`. */
class BatchCall implements CallSettler {
  readonly #results: SendBatchResult[];
  readonly #resolve: (metadata: RecordMetadata[]) => void;
  readonly #reject: (error: Error) => void;
  #pending: number;
  #failed = 0;

  constructor(count: number, resolve: (metadata: RecordMetadata[]) => void, reject: (error: Error) => void) {
    this.#results = new Array(count);
    this.#pending = count;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  settle(index: number, error: Error | null, metadata: RecordMetadata | null): boolean {
    if (error === null) this.#results[index] = { metadata: metadata!, error: null };
    else {
      this.#failed++;
      this.#results[index] = { metadata: null, error };
    }
    if (--this.#pending > 0) return true;
    if (this.#failed === 0) this.#resolve(this.#results.map((result) => result.metadata!));
    else {
      const first = this.#results.find((result) => result.error !== null)!.error!;
      this.#reject(
        new SendBatchError(
          `${this.#failed} of ${this.#results.length} records failed; the first: ${first.message}`,
          this.#results,
          { cause: first },
        ),
      );
    }
    return true;
  }
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

async function codecOf({ compression }: ResolvedOptions): Promise<CompressionCodec | null> {
  if (compression === 'none') return null;
  return typeof compression === 'string' ? await loadCodec(compression) : compression;
}

/**
 * Connects a producer and, with idempotence, gets its producer id.
 *
 * One producer serves a whole process: share it, or use {@link createProducerPool}.
 *
 * Rejects with {@link ConfigError} naming the options that are wrong, `TransportError` when no broker can be reached, or
 * `SendonceError` (`NO_PRODUCER_ID`) when the cluster gives no producer id within `maxBlockMs`.
 */
export async function createProducer(options: ProducerOptions, creating?: CreateProducerOptions): Promise<Producer> {
  const signal = readSignal('createProducer', creating);
  const resolved = resolveOptions(options);
  const codec = await codecOf(resolved);
  const producer = new Producer(resolved, codec, processChurn);
  await outsideCallers(() => producer.start(signal));
  return producer;
}
