import { DeliveryError, type SendonceError } from '../errors.ts';
import type { Observer } from '../observe/observer.ts';
import type { ResolvedOptions } from '../options.ts';
import type { OutsideCallers } from '../outside-callers.ts';
import { choosePartition } from '../partitioner/choose-partition.ts';
import { StickyPartition } from '../partitioner/sticky-partition.ts';
import type { ProducerRecord } from '../record.ts';
import {
  batchHeaderBytes,
  type CompressionCodec,
  compressBatch,
  encodedRecordSize,
  RecordBatchWriter,
} from '../record-batch/index.ts';
import { CallbackDeadline, type DeadlineQueue } from '../sender/deadline-queue.ts';
import { noBytes, ProducerBatch } from './batch.ts';
import { BufferPool } from './buffer-pool.ts';
import { Fifo } from './fifo.ts';
import { FlushTracker } from './flush-tracker.ts';
import { reportOldTimestamp } from './old-timestamps.ts';
import type { PartitionQueue } from './partition-queue.ts';
import { bufferFullError, metadataTimeoutError, noPartitionError, recordTooLargeError } from './refusals.ts';
import { type SettlerFirst, type SettlerSecond, tellFailure } from './settler.ts';
import { type TopicArrival, TopicState } from './topic-state.ts';
import { ownRecord, WaitingRecord } from './waiting-record.ts';

/** What the accumulator tells the sender. */
export interface AccumulatorListener {
  /** A record went into a queue's open batch. Called once a record: nothing may be allocated here. */
  recordAppended(queue: PartitionQueue): void;
  /** A batch is closed, and ready to leave. */
  batchReady(queue: PartitionQueue): void;
  topicWanted(topic: TopicState, isFirst: boolean): void;
  /** A batch failed before it could leave. */
  batchFailed(batch: ProducerBatch, error: DeliveryError): void;
}

/** `wait`: as `send`, up to `maxBlockMs`. `now`: as `enqueue`, refused when memory is full. */
export type TakeMode = 'wait' | 'now';

/** A partition that changes after this many bytes at least gets batches that are worth a request. */
const stickySwitchBytesMin = 16_384;

/** Queues records per partition, in batches that are encoded once, within `bufferMemory` (rules C1, C14). */
export class Accumulator {
  readonly pool: BufferPool;
  readonly flushes = new FlushTracker();
  readonly topics = new Map<string, TopicState>();
  /** Records in batches or waiting, not settled. */
  pendingRecords = 0;
  /** Those of them that are in no batch yet. */
  waitingRecords = 0;

  readonly #options: ResolvedOptions;
  readonly #codec: CompressionCodec | null;
  readonly #deadlines: DeadlineQueue;
  readonly #listener: AccumulatorListener;
  readonly #observer: Observer;
  readonly #outsideCallers: OutsideCallers;
  readonly #memoryWaiters = new Fifo<WaitingRecord>();
  #readyWaiters: (() => void)[] = [];
  #lastTopic: TopicState | null = null;
  #isAdmitting = false;
  #isStopped = false;
  #wasFreedMeanwhile = false;

  constructor(
    options: ResolvedOptions,
    codec: CompressionCodec | null,
    deadlines: DeadlineQueue,
    observer: Observer,
    outsideCallers: OutsideCallers,
    listener: AccumulatorListener,
  ) {
    this.#options = options;
    this.#codec = codec;
    this.#deadlines = deadlines;
    this.#observer = observer;
    this.#outsideCallers = outsideCallers;
    this.#listener = listener;
    this.pool = new BufferPool(options.bufferMemory, options.batchSize);
  }

  /** What reads the batches that this producer compressed. */
  get codecs(): readonly CompressionCodec[] {
    return this.#codec === null ? [] : [this.#codec];
  }

  /** Whether callers of `enqueue` may go on: at least half of the memory is free, and nobody waits for it. */
  get hasRoom(): boolean {
    return this.pool.usedBytes * 2 <= this.pool.limitBytes && this.#memoryWaiters.length === 0;
  }

  /** Resolves when {@link hasRoom} is true. */
  ready(): Promise<void> {
    return this.hasRoom ? Promise.resolve() : new Promise((resolve) => this.#readyWaiters.push(resolve));
  }

  topic(name: string): TopicState {
    const last = this.#lastTopic;
    if (last !== null && last.topic === name) return last;
    let topic = this.topics.get(name);
    if (topic === undefined) {
      const switchBytes = Math.max(stickySwitchBytesMin, this.#options.batchSize);
      topic = new TopicState(name, new StickyPartition(switchBytes, () => this.#options.runtime.random()));
      this.topics.set(name, topic);
    }
    this.#lastTopic = topic;
    return topic;
  }

  /**
   * Takes a record, or throws and has kept nothing of it. The settler hears of it exactly once after this returned.
   * @throws {RecordTooLargeError | ConfigError | BufferFullError | DeliveryError}
   */
  take(
    record: ProducerRecord,
    first: SettlerFirst,
    second: SettlerSecond,
    mode: TakeMode,
    signal: AbortSignal | undefined,
  ): void {
    const topic = this.topic(record.topic);
    const timestamp = record.timestamp ?? this.#options.runtime.wallClockMs();
    if (record.timestamp !== undefined) reportOldTimestamp(topic, record.timestamp, this.#options, this.#observer);
    let waitsFor: 'topic' | 'memory' = topic.partitions.length === 0 || topic.isAdmitting ? 'topic' : 'memory';
    let partition = -1;
    if (waitsFor === 'memory') {
      // Chosen now, whoever waits for memory: a record must not get ahead of one that waits for a partition which is not there yet.
      const queue = this.#queueFor(topic, record);
      if (queue === null) waitsFor = 'topic';
      else if (this.#memoryWaiters.length === 0 && this.#append(queue, record, timestamp, first, second)) {
        this.pendingRecords++;
        return;
      } else partition = queue.partition;
    }
    if (waitsFor === 'memory' && mode === 'now') {
      throw bufferFullError(this.pool.limitBytes, 'enqueue does not wait: wait for producer.ready() first.');
    }
    const waiting = this.#wait(topic, record, timestamp, first, second, mode, waitsFor, signal);
    waiting.partition = partition;
    if (waitsFor === 'memory') this.#memoryWaiters.push(waiting);
    else {
      topic.waiting.push(waiting);
      this.#listener.topicWanted(topic, topic.partitions.length === 0);
    }
  }

  /** The partition a record would go to now; `null` while the topic's metadata is not there. */
  partitionFor(record: ProducerRecord): number | null {
    const topic = this.topic(record.topic);
    if (topic.partitions.length === 0) return null;
    return choosePartition(topic, record, this.#options.partitioner);
  }

  /** Resolves when the topic's partitions are known. Rejects when it can't be used, or after `maxBlockMs`. */
  topicKnown(topic: TopicState): Promise<void> {
    if (topic.partitions.length > 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const arrival: TopicArrival = {
        deadline: new CallbackDeadline(() =>
          this.#arrive(topic, arrival, metadataTimeoutError(topic, -1, this.#options.maxBlockMs)),
        ),
        resolve,
        reject,
      };
      topic.arrivals.add(arrival);
      this.#deadlines.set(arrival.deadline, this.#options.runtime.monotonicMs() + this.#options.maxBlockMs);
      this.#listener.topicWanted(topic, true);
    });
  }

  #arrive(topic: TopicState, arrival: TopicArrival, error: Error | null): void {
    topic.arrivals.delete(arrival);
    this.#deadlines.remove(arrival.deadline);
    if (error === null) arrival.resolve();
    else arrival.reject(error);
  }

  /** The topic's partitions are known, or known to have changed: appends what waited for it, in order. */
  topicArrived(topic: TopicState): void {
    for (const arrival of topic.arrivals) this.#arrive(topic, arrival, null);
    this.#admitWaiting(topic, true);
  }

  /**
   * Lets in what waits for the topic. Hooks and callbacks send more meanwhile, and that goes behind: at the end of the turn, since one
   * that sends again whenever it hears of a failure must not keep the event loop for itself. A partition that the answer did not have is
   * waited for until the next answer.
   */
  #admitWaiting(topic: TopicState, isNews: boolean): void {
    topic.isAdmitting = true;
    for (let count = topic.waiting.length; count > 0; count--) {
      const waiting = topic.waiting.shift();
      if (waiting === undefined || waiting.isSettled) continue;
      if (!isNews && lacksPartition(topic, waiting.record)) topic.waiting.push(waiting);
      else if (this.#memoryWaiters.length > 0 || !this.#admit(waiting)) {
        waiting.waitsFor = 'memory';
        this.#memoryWaiters.push(waiting);
      }
    }
    topic.isAdmitting = topic.waiting.some((waiting) => !waiting.isSettled && !lacksPartition(topic, waiting.record));
    if (topic.isAdmitting) {
      this.#outsideCallers(() => this.#options.runtime.endOfTurn(() => this.#admitWaiting(topic, false)));
    }
  }

  /** Drops a topic of which nothing is known and for which nothing waits: names that are wrong must not add up. */
  forget(topic: TopicState): void {
    if (topic.partitions.length > 0 || topic.waiting.length > 0) return;
    this.topics.delete(topic.topic);
    if (this.#lastTopic === topic) this.#lastTopic = null;
  }

  /** The topic can't be used: fails what waits for it. */
  failWaiting(topic: TopicState, error: (partition: number) => SendonceError): void {
    for (const arrival of topic.arrivals) this.#arrive(topic, arrival, error(-1));
    // What callbacks send meanwhile waits for the next answer.
    for (let count = topic.waiting.length; count > 0; count--) {
      const waiting = topic.waiting.shift();
      if (waiting !== undefined) this.#reject(waiting, error(waiting.record.partition ?? -1));
    }
  }

  /** Fails everything that waits, for metadata and for memory. Nothing is let in any more. */
  failAllWaiting(error: (topic: string, partition: number) => SendonceError): void {
    this.#isStopped = true;
    for (const topic of this.topics.values()) this.failWaiting(topic, (partition) => error(topic.topic, partition));
    for (let waiting = this.#memoryWaiters.shift(); waiting !== undefined; waiting = this.#memoryWaiters.shift()) {
      this.#reject(waiting, error(waiting.topic.topic, waiting.record.partition ?? -1));
    }
    this.#wakeReady();
  }

  /** Closes the open batch: it takes no more records, and leaves as soon as it may. */
  close(queue: PartitionQueue): void {
    const batch = queue.open!;
    const writer = batch.writer!;
    queue.open = null;
    queue.openIsDue = false;
    this.#deadlines.remove(queue.linger);
    batch.bytes = writer.finish();
    batch.maxTimestampMs = writer.maxTimestampMs;
    batch.writer = null;
    batch.moveTo('ready');
    queue.capacityHintBytes = batch.bytes.length;
    queue.ready.push(batch);
    this.prepare(batch);
  }

  /** Compresses a closed batch where a codec is set; another thread may do it. */
  prepare(batch: ProducerBatch): void {
    const codec = this.#codec;
    if (codec === null) {
      batch.prepared = true;
      return;
    }
    let compressed: Buffer | Promise<Buffer>;
    try {
      compressed = this.#outsideCallers(() => compressBatch(batch.bytes, codec));
    } catch (error) {
      this.#compressionFailed(batch, codec, error);
      return;
    }
    if (Buffer.isBuffer(compressed)) {
      this.#takeCompressed(batch, compressed);
      return;
    }
    compressed.then(
      (bytes) => {
        if (batch.state === 'settled') return;
        this.#takeCompressed(batch, bytes);
        this.#listener.batchReady(batch.queue);
      },
      (error: unknown) => {
        if (batch.state !== 'settled') this.#compressionFailed(batch, codec, error);
      },
    );
  }

  /** Gives a settled batch's memory back, unless an attempt still holds its bytes. */
  release(batch: ProducerBatch): void {
    const { buffer, chargedBytes } = batch;
    batch.buffer = null;
    batch.writer = null;
    batch.bytes = noBytes;
    batch.chargedBytes = 0;
    if (buffer !== null) this.pool.release(buffer);
    if (chargedBytes > 0) this.pool.discharge(chargedBytes);
    this.#memoryFreed();
  }

  #queueFor(topic: TopicState, record: ProducerRecord): PartitionQueue | null {
    const queue = topic.partitions[choosePartition(topic, record, this.#options.partitioner)];
    if (queue !== undefined) return queue;
    // The topic may have grown: worth one question, unless it was asked just now.
    const age = this.#options.runtime.monotonicMs() - topic.refreshedAtMs;
    if (age > this.#options.retryBackoffMs) return null;
    throw noPartitionError(topic, record.partition!);
  }

  /** Rule C1: straight into the batch. False when memory is full. */
  #append(
    queue: PartitionQueue,
    record: ProducerRecord,
    timestamp: number,
    first: SettlerFirst,
    second: SettlerSecond,
  ): boolean {
    const { key = null, value, headers } = record;
    let batch = queue.open;
    while (batch !== null) {
      const outcome = batch.writer!.tryAppend(key, value, headers, timestamp, batch.limitBytes);
      if (outcome === 'appended') break;
      if (outcome === 'full') {
        this.close(queue);
        this.#listener.batchReady(queue);
        // A hook may have sent records of its own meanwhile.
        batch = queue.open;
      } else {
        const needed = batch.writer!.size + encodedRecordSize(key, value, headers) + recordOverheadMax;
        const larger = this.pool.acquire(needed, Math.min(batch.buffer!.length * 4, batch.limitBytes));
        if (larger === null) {
          this.close(queue);
          this.#listener.batchReady(queue);
          return false;
        }
        const smaller = batch.buffer!;
        batch.writer!.grow(larger);
        batch.buffer = larger;
        this.pool.release(smaller);
      }
    }
    if (batch === null) {
      batch = this.#openBatch(queue, record, timestamp);
      if (batch === null) return false;
    }
    batch.recordCount++;
    batch.addSettler(first, second, timestamp);
    this.#listener.recordAppended(queue);
    return true;
  }

  #openBatch(queue: PartitionQueue, record: ProducerRecord, timestamp: number): ProducerBatch | null {
    const { key = null, value, headers } = record;
    const { batchSize, maxRequestSize, deliveryTimeoutMs, runtime } = this.#options;
    const recordBytes = encodedRecordSize(key, value, headers);
    const needed = batchHeaderBytes + recordBytes;
    if (needed > maxRequestSize) throw recordTooLargeError(queue.topic, queue.partition, needed, maxRequestSize);
    const buffer = this.pool.acquire(needed, queue.capacityHintBytes);
    if (buffer === null) return null;
    const nowMs = runtime.monotonicMs();
    const batch = new ProducerBatch(queue, new RecordBatchWriter(buffer, timestamp), nowMs, this.flushes.enter());
    batch.buffer = buffer;
    batch.limitBytes = Math.max(batchSize, needed);
    batch.writer!.tryAppend(key, value, headers, timestamp, batch.limitBytes);
    queue.open = batch;
    this.#deadlines.set(batch, nowMs + deliveryTimeoutMs);
    return batch;
  }

  #wait(
    topic: TopicState,
    record: ProducerRecord,
    timestamp: number,
    first: SettlerFirst,
    second: SettlerSecond,
    mode: TakeMode,
    waitsFor: 'topic' | 'memory',
    signal: AbortSignal | undefined,
  ): WaitingRecord {
    const { maxBlockMs, maxRequestSize, runtime } = this.#options;
    const bytes = batchHeaderBytes + encodedRecordSize(record.key ?? null, record.value, record.headers);
    if (bytes > maxRequestSize) throw recordTooLargeError(topic, record.partition ?? -1, bytes, maxRequestSize);
    // A waiting `send` holds back its caller; `enqueue` holds back nobody, so its bytes must count.
    const chargedBytes = mode === 'now' ? bytes : 0;
    if (chargedBytes > this.pool.availableBytes) {
      throw bufferFullError(
        this.pool.limitBytes,
        `${topic.topic}'s metadata is not there yet, and what waits for it fills the memory.`,
      );
    }
    this.pool.charge(chargedBytes);
    const waiting = new WaitingRecord(
      topic,
      ownRecord(record, timestamp),
      first,
      second,
      this.flushes.enter(),
      chargedBytes,
      waitsFor,
      signal,
      this.#onWaitedTooLong,
    );
    this.pendingRecords++;
    this.waitingRecords++;
    this.#deadlines.set(waiting, runtime.monotonicMs() + maxBlockMs);
    if (signal !== undefined) {
      waiting.onAbort = () => this.#reject(waiting, signal.reason);
      signal.addEventListener('abort', waiting.onAbort, { once: true });
    }
    return waiting;
  }

  readonly #onWaitedTooLong = (waiting: WaitingRecord): void => {
    const { topic } = waiting;
    if (waiting.waitsFor === 'memory') {
      this.#reject(
        waiting,
        bufferFullError(this.pool.limitBytes, `It stayed full for maxBlockMs (${this.#options.maxBlockMs} ms).`),
      );
      return;
    }
    this.#reject(waiting, metadataTimeoutError(topic, waiting.record.partition ?? -1, this.#options.maxBlockMs));
  };

  /** Appends a record that waited. False when memory is full. */
  #admit(waiting: WaitingRecord): boolean {
    const { topic, record } = waiting;
    try {
      const hasChoice = waiting.partition < 0 || topic.partitions[waiting.partition] === undefined;
      if (hasChoice) waiting.partition = choosePartition(topic, record, this.#options.partitioner);
      const queue = topic.partitions[waiting.partition];
      if (queue === undefined) {
        this.#reject(waiting, noPartitionError(topic, waiting.partition));
        return true;
      }
      this.pool.discharge(waiting.chargedBytes);
      if (!this.#append(queue, record, record.timestamp!, waiting.first, waiting.second)) {
        this.pool.charge(waiting.chargedBytes);
        return false;
      }
      this.#handOver(waiting, queue.open!);
    } catch (error) {
      this.#reject(waiting, error as SendonceError);
      return true;
    }
    this.#settled(waiting);
    return true;
  }

  /** A flush that waits for the waiting record must now wait for its batch. */
  #handOver(waiting: WaitingRecord, batch: ProducerBatch): void {
    const older = waiting.flushGroup;
    const newer = batch.flushGroup;
    if (older.id < newer.id) {
      batch.flushGroup = older;
      this.flushes.leave(newer);
    } else this.flushes.leave(older);
  }

  #settled(waiting: WaitingRecord): void {
    waiting.isSettled = true;
    this.waitingRecords--;
    this.#deadlines.remove(waiting);
    if (waiting.onAbort !== null) waiting.signal!.removeEventListener('abort', waiting.onAbort);
  }

  #reject(waiting: WaitingRecord, error: Error): void {
    if (waiting.isSettled) return;
    this.#settled(waiting);
    this.pool.discharge(waiting.chargedBytes);
    this.pendingRecords--;
    this.flushes.leave(waiting.flushGroup);
    const { topic } = waiting.topic;
    this.#observer.recordRefused(topic, error);
    if (!tellFailure(waiting.first, waiting.second, error, this.#observer.callbackFailed)) {
      this.#observer.unheard(topic, waiting.record.partition ?? -1, 1, error);
    }
    this.#dropSettledHeads(waiting.topic.waiting);
    this.#dropSettledHeads(this.#memoryWaiters);
    this.#memoryFreed();
  }

  #dropSettledHeads(list: Fifo<WaitingRecord>): void {
    for (let head = list.peek(); head?.isSettled; head = list.peek()) list.shift();
  }

  /**
   * Lets in those who wait for memory, in order. Admitting one may itself free memory (a batch fills and is compressed): such a
   * nested call must not admit the same record again, so it only makes the outer one go on.
   */
  #memoryFreed(): void {
    if (this.#isStopped) return;
    if (this.#isAdmitting) {
      this.#wasFreedMeanwhile = true;
      return;
    }
    this.#isAdmitting = true;
    try {
      do {
        this.#wasFreedMeanwhile = false;
        this.#admitWaiters();
      } while (this.#wasFreedMeanwhile && this.#memoryWaiters.length > 0);
    } finally {
      this.#isAdmitting = false;
    }
    if (this.#readyWaiters.length > 0 && this.hasRoom) this.#wakeReady();
  }

  #admitWaiters(): void {
    for (let waiting = this.#memoryWaiters.peek(); waiting !== undefined; waiting = this.#memoryWaiters.peek()) {
      if (!waiting.isSettled && !this.#admit(waiting)) return;
      // One that was rejected has left the list already.
      if (this.#memoryWaiters.peek() === waiting) this.#memoryWaiters.shift();
    }
  }

  #wakeReady(): void {
    const waiters = this.#readyWaiters;
    this.#readyWaiters = [];
    for (const resolve of waiters) resolve();
  }

  #takeCompressed(batch: ProducerBatch, compressed: Buffer): void {
    // The uncompressed bytes are not needed any more.
    const { buffer, chargedBytes } = batch;
    batch.buffer = null;
    batch.bytes = compressed;
    batch.chargedBytes = compressed.length;
    batch.prepared = true;
    this.pool.charge(compressed.length);
    if (buffer !== null) this.pool.release(buffer);
    if (chargedBytes > 0) this.pool.discharge(chargedBytes);
    this.#memoryFreed();
  }

  #compressionFailed(batch: ProducerBatch, codec: CompressionCodec, cause: unknown): void {
    this.#listener.batchFailed(
      batch,
      new DeliveryError(`Codec ${codec.name} failed to compress a batch. Nothing of it was sent.`, {
        code: 'COMPRESSION_FAILED',
        fate: 'not-stored',
        attempts: batch.attempts,
        topic: batch.queue.topic.topic,
        partition: batch.queue.partition,
        cause,
      }),
    );
  }
}

/** Whether a record waits for a partition that the topic does not have, as far as is known. */
function lacksPartition({ partitions }: TopicState, { partition }: ProducerRecord): boolean {
  return partition !== undefined && partitions[partition] === undefined;
}

/** The length prefix grows by at most this when a record's offset and timestamp deltas become longer. */
const recordOverheadMax = 21;
