import { hasProducerId, type LogBatch } from './log-batch.ts';
import type { ProfileRules } from './profile.ts';

/** Batches of each producer that a partition remembers: what a producer may have in flight (rule C5). */
export const rememberedBatches = 5;

/** One remembered batch of a producer. */
export interface NotebookBatch {
  readonly baseSequence: number;
  readonly lastSequence: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  /** Timestamp of its newest record, in milliseconds since 1970. */
  readonly timestampMs: number;
}

/** What a partition remembers of one producer id: its epoch and its last batches, oldest first. */
export class ProducerEntry {
  #epoch: number;
  #batches: NotebookBatch[] = [];
  #lastWriteMs: number;

  constructor(epoch: number, lastWriteMs: number) {
    this.#epoch = epoch;
    this.#lastWriteMs = lastWriteMs;
  }

  get epoch(): number {
    return this.#epoch;
  }

  get batches(): readonly NotebookBatch[] {
    return this.#batches;
  }

  /** When the broker stored the last batch, in milliseconds since 1970. */
  get lastWriteMs(): number {
    return this.#lastWriteMs;
  }

  get lastSequence(): number {
    return this.last.lastSequence;
  }

  /** The newest batch. An entry always holds one: it is made for a batch, and goes with its last. */
  get last(): NotebookBatch {
    return this.#batches[this.#batches.length - 1]!;
  }

  /** The remembered batch with exactly this range; a part of one, or more than one, is no repeat. */
  find(baseSequence: number, lastSequence: number): NotebookBatch | undefined {
    for (let index = this.#batches.length - 1; index >= 0; index--) {
      const batch = this.#batches[index]!;
      if (batch.baseSequence === baseSequence && batch.lastSequence === lastSequence) return batch;
    }
    return undefined;
  }

  add(epoch: number, batch: NotebookBatch, writtenMs: number): void {
    if (epoch !== this.#epoch) {
      this.#epoch = epoch;
      this.#batches = [];
    }
    this.#batches.push(batch);
    if (this.#batches.length > rememberedBatches) this.#batches.shift();
    this.#lastWriteMs = writtenMs;
  }

  /** Forgets all but the newest `count` batches. */
  narrow(count: number): void {
    if (this.#batches.length > count) this.#batches = this.#batches.slice(-count);
  }

  /** Forgets batches that end before `offset`; false when none is left. */
  forgetBefore(offset: number): boolean {
    if (this.#batches[0]!.lastOffset < offset) {
      this.#batches = this.#batches.filter((batch) => batch.lastOffset >= offset);
    }
    return this.#batches.length > 0;
  }

  copy(): ProducerEntry {
    const copy = new ProducerEntry(this.#epoch, this.#lastWriteMs);
    copy.#batches = [...this.#batches];
    return copy;
  }
}

export interface ProducerStateOptions {
  readonly rules: ProfileRules;
  /** Idle time after which an entry goes (M5). */
  readonly producerIdExpirationMs: number;
}

/** A partition's memory of its producers: the tutorial's notebook. One for each replica. */
export class ProducerState {
  readonly #options: ProducerStateOptions;
  readonly #entries = new Map<bigint, ProducerEntry>();

  constructor(options: ProducerStateOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  entries(): IterableIterator<[bigint, ProducerEntry]> {
    return this.#entries.entries();
  }

  find(producerId: bigint): ProducerEntry | undefined {
    return this.#entries.get(producerId);
  }

  /**
   * Takes note of a batch that is in the log now. Replaying the log calls this with the same batches and the same times,
   * so that it comes to the same state.
   */
  note(batch: LogBatch): void {
    const { header } = batch;
    if (!hasProducerId(header)) return;
    if (this.#options.rules.expiry === 'exact') this.expireOne(header.producerId, batch.appendedMs);
    let entry = this.#entries.get(header.producerId);
    if (entry === undefined) {
      entry = new ProducerEntry(header.producerEpoch, batch.appendedMs);
      this.#entries.set(header.producerId, entry);
    }
    const noted = {
      baseSequence: header.baseSequence,
      lastSequence: batch.lastSequence,
      baseOffset: batch.baseOffset,
      lastOffset: batch.lastOffset,
      timestampMs: header.maxTimestampMs,
    };
    entry.add(header.producerEpoch, noted, batch.appendedMs);
  }

  /** Puts back an entry from a snapshot. */
  restore(producerId: bigint, entry: ProducerEntry): void {
    this.#entries.set(producerId, entry);
  }

  /** Removes entries that are idle at `nowMs` (M5), and returns whose. */
  expire(nowMs: number): bigint[] {
    return this.#removeWhere((entry) => this.#isIdle(entry, nowMs));
  }

  /** Removes one entry if it is idle at `nowMs`. */
  expireOne(producerId: bigint, nowMs: number): boolean {
    const entry = this.#entries.get(producerId);
    return entry !== undefined && this.#isIdle(entry, nowMs) && this.#entries.delete(producerId);
  }

  /** Retention removed everything before `logStartOffset`: what the profile forgets with it goes. */
  forgetBefore(logStartOffset: number): bigint[] {
    if (!this.#options.rules.retentionForgets) return [];
    return this.#removeWhere((entry) => !entry.forgetBefore(logStartOffset));
  }

  narrow(count: number): void {
    for (const entry of this.#entries.values()) entry.narrow(count);
  }

  #isIdle(entry: ProducerEntry, nowMs: number): boolean {
    const since = this.#options.rules.idleSince === 'write' ? entry.lastWriteMs : entry.last.timestampMs;
    return nowMs - since >= this.#options.producerIdExpirationMs;
  }

  #removeWhere(goes: (entry: ProducerEntry) => boolean): bigint[] {
    const gone: bigint[] = [];
    for (const [producerId, entry] of this.#entries) {
      if (goes(entry)) gone.push(producerId);
    }
    for (const producerId of gone) this.#entries.delete(producerId);
    return gone;
  }
}
