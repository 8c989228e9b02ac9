import type { DeliveryError, Fate } from '../errors.ts';
import type { BatchInfo, RecordWatch } from '../observe/hooks.ts';
import { WatchedRecord } from '../observe/watched-record.ts';
import { type BatchAcknowledgement, RecordMetadata } from '../record.ts';
import type { RecordBatchWriter } from '../record-batch/index.ts';
import type { Attempt } from '../sender/attempt.ts';
import { Deadline } from '../sender/deadline-queue.ts';
import type { FlushGroup } from './flush-tracker.ts';
import type { PartitionQueue } from './partition-queue.ts';
import { type SettlerFirst, type SettlerSecond, tellFailure, tellSuccess } from './settler.ts';

/**
 * - `open`: takes records.
 * - `ready`: closed, waiting for its first attempt (or, after a bump, for its first under new numbers).
 * - `inFlight`: an attempt is out.
 * - `retrying`: numbered, waiting to be sent again.
 * - `resolving`: numbered, and asked about by rule C9.
 * - `settled`: its callers were told. The partition may still wait for its fate.
 */
export type BatchState = 'open' | 'ready' | 'inFlight' | 'retrying' | 'resolving' | 'settled';

const transitions: Readonly<Record<BatchState, readonly BatchState[]>> = {
  open: ['ready', 'settled'],
  ready: ['inFlight', 'settled'],
  inFlight: ['retrying', 'resolving', 'settled'],
  retrying: ['inFlight', 'resolving', 'ready', 'settled'],
  resolving: ['inFlight', 'retrying', 'ready', 'settled'],
  settled: [],
};

const never = Number.NEGATIVE_INFINITY;

/** Records of one partition that are numbered, sent and settled together. Is its own delivery deadline (C8). */
export class ProducerBatch extends Deadline {
  readonly queue: PartitionQueue;
  readonly createdAtMs: number;
  flushGroup: FlushGroup;
  state: BatchState;

  /** Until the batch is finished; the writer's buffer is the pool's. */
  writer: RecordBatchWriter | null;
  /** The finished batch: what each attempt sends (C1). Empty before, and after the memory was given back. */
  bytes: Buffer = noBytes;
  buffer: Buffer | null = null;
  /** Bytes counted against `bufferMemory` beside the pool's buffer. */
  chargedBytes = 0;
  /** False while a codec works on another thread. */
  prepared = false;
  recordCount = 0;
  /** The newest record's timestamp. */
  maxTimestampMs = 0;
  /** Bytes at which it is full. */
  limitBytes = 0;
  /** The broker's timestamp, once it answered with one. */
  logAppendTimeMs = -1;
  /** In its partition's list of numbered batches. */
  isTracked = false;
  /** Whether the header carries the present numbers. */
  isStamped = false;

  producerId = -1n;
  epoch = -1;
  baseSequence = -1;

  /** The attempt that is out, if any; a reply to another one is stale (C12). */
  attempt: Attempt | null = null;
  /** Attempts that left. */
  attempts = 0;
  /** Attempts under the present numbers that may have been stored, for all we know. */
  unanswered = 0;
  /** How many of those were made to a topic of the same name that was deleted: the one in its place can't have the batch by them. */
  unansweredInFormerTopic = 0;
  /** Whether a topic of the same name that was deleted may have had it under former numbers, whatever is known of the one in its place. */
  mayBeInFormerTopic = false;
  /** Whether any byte of it left under the present numbers. */
  left = false;
  /** When a connection last ended with an attempt of this batch on it. */
  lostAtMs = never;
  /** A later batch of the same epoch was stored, so this one is too. */
  knownStored = false;
  /** The log was cut beneath it: a later batch that is stored proves nothing about this one. */
  answersForItself = false;
  /** The last resolving round in which the broker refused it. */
  refusedInRound = 0;
  /** That refusal was not about sequences, so the broker may take a later batch. */
  refusedOtherwise = false;
  /** Refused as out of order behind another batch: sent again when it is the oldest. */
  waitsForHead = false;
  /** Why the latest attempt failed; becomes the `cause` when time runs out. */
  lastError: Error | null = null;

  /** What hooks see of it: made by the observer when one looks. */
  view: BatchInfo | null = null;

  #firsts: SettlerFirst[] | null = null;
  #seconds: SettlerSecond[] = [];
  /** Whether any second is a number, as it is of a record that is watched. */
  #hasPlaces = false;
  #timestamps: number[] = [];

  constructor(
    queue: PartitionQueue,
    writer: RecordBatchWriter | null,
    createdAtMs: number,
    flushGroup: FlushGroup,
    state: 'open' | 'retrying' = 'open',
  ) {
    super();
    this.state = state;
    this.queue = queue;
    this.writer = writer;
    this.createdAtMs = createdAtMs;
    this.flushGroup = flushGroup;
  }

  onDue(nowMs: number): void {
    this.queue.onDeliveryTimeout(this, nowMs);
  }

  moveTo(next: BatchState): void {
    if (!transitions[this.state].includes(next)) {
      throw new Error(`A batch can't go from ${this.state} to ${next}`);
    }
    this.state = next;
  }

  /** What is known now. `not-stored` only when no attempt can have been stored. */
  get fate(): Fate {
    if (this.knownStored) return 'stored';
    return this.unanswered > 0 || this.attempt !== null || this.mayBeInFormerTopic ? 'unknown' : 'not-stored';
  }

  /** Notes who hears of the record that was just appended. */
  addSettler(first: SettlerFirst, second: SettlerSecond, timestampMs: number): void {
    if (this.#firsts === null) {
      if (first === undefined) return;
      this.#firsts = new Array<SettlerFirst>(this.recordCount - 1).fill(undefined);
      this.#seconds = new Array<SettlerSecond>(this.recordCount - 1).fill(undefined);
      this.#timestamps = new Array<number>(this.recordCount - 1).fill(0);
    }
    if (typeof second === 'number') this.#hasPlaces = true;
    this.#firsts.push(first);
    this.#seconds.push(second);
    this.#timestamps.push(timestampMs);
  }

  /** Takes over the settlers of `[from, to)` of a batch that is split (C11, MESSAGE_TOO_LARGE). */
  inheritSettlers(whole: ProducerBatch, from: number, to: number): void {
    if (whole.#firsts === null) return;
    this.#hasPlaces = whole.#hasPlaces;
    this.#firsts = whole.#firsts.slice(from, to);
    this.#seconds = whole.#seconds.slice(from, to);
    this.#timestamps = whole.#timestamps.slice(from, to);
  }

  /** Visits what hooks watch among its records, in their order. */
  eachWatched(visit: (watch: RecordWatch) => void): void {
    if (this.#firsts === null || !this.#hasPlaces) return;
    for (let index = 0; index < this.#firsts.length; index++) {
      // Most records have no number here, and that is quicker to see.
      if (typeof this.#seconds[index] !== 'number') continue;
      const first = this.#firsts[index];
      if (first instanceof WatchedRecord) visit(first.watch);
    }
  }

  dropSettlers(): void {
    this.#takeSettlers();
  }

  /** Tells every caller that the batch is stored. */
  acknowledge(acknowledgement: BatchAcknowledgement, onCallbackError: (error: unknown) => void): void {
    this.moveTo('settled');
    const { firsts, seconds, timestamps } = this.#takeSettlers();
    if (firsts === null) return;
    for (let index = 0; index < firsts.length; index++) {
      const first = firsts[index];
      if (first === undefined) continue;
      const metadata = new RecordMetadata(acknowledgement, index, timestamps[index]!);
      tellSuccess(first, seconds[index], metadata, onCallbackError);
    }
  }

  /** Tells every caller that the batch failed. Returns how many records nobody listens for. */
  reject(error: DeliveryError, onCallbackError: (error: unknown) => void): number {
    this.moveTo('settled');
    const { firsts, seconds } = this.#takeSettlers();
    if (firsts === null) return this.recordCount;
    let unheard = this.recordCount - firsts.length;
    for (let index = 0; index < firsts.length; index++) {
      if (!tellFailure(firsts[index], seconds[index], error, onCallbackError)) unheard++;
    }
    return unheard;
  }

  /**
   * Each is told once. And a batch may be looked at for some time after it was settled, by an attempt or a hook: thousands of promises with their
   * callers' contexts must not live as long.
   */
  #takeSettlers(): { firsts: SettlerFirst[] | null; seconds: SettlerSecond[]; timestamps: number[] } {
    const taken = { firsts: this.#firsts, seconds: this.#seconds, timestamps: this.#timestamps };
    this.#firsts = null;
    this.#seconds = [];
    this.#timestamps = [];
    return taken;
  }

  /** Fresh numbers are due: what was said about the old ones no longer counts. Only when none of it is stored (C9). */
  forgetNumbers(): void {
    this.isTracked = false;
    this.producerId = -1n;
    this.epoch = -1;
    this.baseSequence = -1;
    if (this.unansweredInFormerTopic > 0) this.mayBeInFormerTopic = true;
    this.unanswered = 0;
    this.unansweredInFormerTopic = 0;
    this.left = false;
    this.lostAtMs = never;
    this.refusedInRound = 0;
    this.refusedOtherwise = false;
    this.waitsForHead = false;
    this.answersForItself = false;
    this.isStamped = false;
  }
}

/** A batch without its memory. */
export const noBytes = Buffer.alloc(0);
