import type { LogBatch } from './log-batch.ts';

interface Segment {
  readonly baseOffset: number;
  readonly batches: LogBatch[];
  sizeBytes: number;
}

interface LeaderEpochStart {
  readonly leaderEpoch: number;
  readonly startOffset: number;
}

export interface RetentionLimits {
  /** Whole old segments go while the rest is at least this large. Infinity: never. */
  readonly retentionBytes: number;
  /** Segments go whose newest record is older than this. Infinity: never. */
  readonly retentionMs: number;
}

/**
 * One replica's log of one partition: batches in segments, and where each leader epoch began.
 *
 * Unbounded unless the topic has retention, as Kafka's logs are: forgetting records is the topic's decision.
 */
export class PartitionLog {
  readonly #segmentBytes: number;
  readonly #firstOffset: number;
  #segments: Segment[];
  #epochs: LeaderEpochStart[] = [];
  #logStartOffset: number;
  #logEndOffset: number;
  #sizeBytes = 0;

  constructor({ segmentBytes, firstOffset }: { readonly segmentBytes: number; readonly firstOffset: number }) {
    this.#segmentBytes = segmentBytes;
    this.#firstOffset = firstOffset;
    this.#logStartOffset = firstOffset;
    this.#logEndOffset = firstOffset;
    this.#segments = [{ baseOffset: firstOffset, batches: [], sizeBytes: 0 }];
  }

  /** First offset that can be read. */
  get logStartOffset(): number {
    return this.#logStartOffset;
  }

  /** The offset that the next record gets. */
  get logEndOffset(): number {
    return this.#logEndOffset;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get segmentBaseOffsets(): number[] {
    return this.#segments.map((segment) => segment.baseOffset);
  }

  /** The epoch of the last batch; -1 in an empty log. */
  get latestLeaderEpoch(): number {
    return this.#epochs[this.#epochs.length - 1]?.leaderEpoch ?? -1;
  }

  /** Whether a batch of this size starts a new segment. */
  rollsFor(sizeBytes: number): boolean {
    const active = this.#segments[this.#segments.length - 1]!;
    return active.batches.length > 0 && active.sizeBytes + sizeBytes > this.#segmentBytes;
  }

  append(batch: LogBatch): void {
    if (batch.baseOffset !== this.#logEndOffset) {
      throw new Error(`A batch for offset ${batch.baseOffset} can't follow a log that ends at ${this.#logEndOffset}`);
    }
    if (this.rollsFor(batch.sizeBytes)) {
      this.#segments.push({ baseOffset: batch.baseOffset, batches: [], sizeBytes: 0 });
    }
    const active = this.#segments[this.#segments.length - 1]!;
    active.batches.push(batch);
    active.sizeBytes += batch.sizeBytes;
    this.#sizeBytes += batch.sizeBytes;
    this.#logEndOffset = batch.nextOffset;
    if (batch.header.partitionLeaderEpoch > this.latestLeaderEpoch) {
      this.#epochs.push({ leaderEpoch: batch.header.partitionLeaderEpoch, startOffset: batch.baseOffset });
    }
  }

  /** Batches in offset order, from the one that holds `offset`. */
  *batchesFrom(offset: number): Generator<LogBatch, void, undefined> {
    for (let at = this.#segmentIndexOf(offset); at < this.#segments.length; at++) {
      const { batches } = this.#segments[at]!;
      for (let index = firstEndingAtOrAfter(batches, offset); index < batches.length; index++) yield batches[index]!;
    }
  }

  /** Every batch that holds a record which can still be read. */
  batches(): Generator<LogBatch, void, undefined> {
    return this.batchesFrom(this.#logStartOffset);
  }

  /** At most `count` of the last batches that hold a record which can still be read, oldest first. */
  newestBatches(count: number): LogBatch[] {
    const newest: LogBatch[] = [];
    for (let at = this.#segments.length - 1; at >= 0 && newest.length < count; at--)
      newest.unshift(...this.#segments[at]!.batches.slice(newest.length - count));
    return newest.filter(({ nextOffset }) => nextOffset > this.#logStartOffset);
  }

  /**
   * Where this log stops agreeing with one whose last epoch is `leaderEpoch`: the largest epoch here that is not newer, and
   * the offset after its last record (Kafka's OffsetsForLeaderEpoch).
   */
  endOfEpoch(leaderEpoch: number): { readonly leaderEpoch: number; readonly endOffset: number } {
    let found = -1;
    for (const start of this.#epochs) {
      if (start.leaderEpoch > leaderEpoch) return { leaderEpoch: found, endOffset: start.startOffset };
      found = start.leaderEpoch;
    }
    return { leaderEpoch: found, endOffset: this.#logEndOffset };
  }

  /** Removes every batch that ends at or after `offset`; returns them, oldest first. */
  truncateTo(offset: number): LogBatch[] {
    const removed: LogBatch[] = [];
    while (this.#segments.length > 0) {
      const segment = this.#segments[this.#segments.length - 1]!;
      const keep = firstEndingAtOrAfter(segment.batches, offset);
      const gone = segment.batches.splice(keep);
      for (const batch of gone) {
        segment.sizeBytes -= batch.sizeBytes;
        this.#sizeBytes -= batch.sizeBytes;
      }
      removed.unshift(...gone);
      if (segment.batches.length > 0 || this.#segments.length === 1) break;
      this.#segments.pop();
    }
    const last = this.#segments[this.#segments.length - 1]!;
    const lastBatch = last.batches[last.batches.length - 1];
    if (lastBatch === undefined) this.#restartAt(Math.max(Math.min(offset, this.#logEndOffset), this.#firstOffset));
    else this.#logEndOffset = lastBatch.nextOffset;
    this.#logStartOffset = Math.min(this.#logStartOffset, this.#logEndOffset);
    this.#epochs = this.#epochs.filter((start) => start.startOffset < this.#logEndOffset);
    return removed;
  }

  /** Drops everything and starts again, empty, at `offset`: a follower whose leader no longer has what would come next. */
  restartAt(offset: number): void {
    this.#restartAt(offset);
    this.#logStartOffset = offset;
    this.#epochs = [];
  }

  /** Moves the log start to `offset` and drops the segments that lie before it. */
  deleteBefore(offset: number): void {
    if (offset <= this.#logStartOffset) return;
    this.#logStartOffset = Math.min(offset, this.#logEndOffset);
    while (this.#segments.length > 1 && this.#segments[1]!.baseOffset <= this.#logStartOffset) {
      const [segment] = this.#segments.splice(0, 1);
      this.#sizeBytes -= segment!.sizeBytes;
    }
    this.#epochs = epochsFrom(this.#epochs, this.#logStartOffset);
  }

  /** The log start that retention asks for; at most `upTo`, and never inside the active segment. */
  retainedFrom({ retentionBytes, retentionMs }: RetentionLimits, nowMs: number, upTo: number): number {
    let sizeBytes = this.#sizeBytes;
    let from = this.#logStartOffset;
    for (let at = 0; at + 1 < this.#segments.length; at++) {
      const segment = this.#segments[at]!;
      const nextBaseOffset = this.#segments[at + 1]!.baseOffset;
      sizeBytes -= segment.sizeBytes;
      const goes = sizeBytes >= retentionBytes || nowMs - newestTimestampMs(segment) > retentionMs;
      if (!goes || nextBaseOffset > upTo) break;
      from = nextBaseOffset;
    }
    return from;
  }

  #restartAt(offset: number): void {
    this.#segments = [{ baseOffset: offset, batches: [], sizeBytes: 0 }];
    this.#sizeBytes = 0;
    this.#logEndOffset = offset;
  }

  #segmentIndexOf(offset: number): number {
    let low = 0;
    let high = this.#segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#segments[middle]!.baseOffset <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function firstEndingAtOrAfter(batches: readonly LogBatch[], offset: number): number {
  let low = 0;
  let high = batches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (batches[middle]!.lastOffset >= offset) high = middle;
    else low = middle + 1;
  }
  return low;
}

function newestTimestampMs(segment: Segment): number {
  let newest = Number.NEGATIVE_INFINITY;
  for (const batch of segment.batches) newest = Math.max(newest, batch.header.maxTimestampMs);
  return newest;
}

/** Keeps the epoch that `offset` lies in, now beginning there, and later ones. */
function epochsFrom(epochs: readonly LeaderEpochStart[], offset: number): LeaderEpochStart[] {
  const kept = epochs.filter((_, index) => (epochs[index + 1]?.startOffset ?? Number.POSITIVE_INFINITY) > offset);
  return kept.map(({ leaderEpoch, startOffset }) => ({ leaderEpoch, startOffset: Math.max(startOffset, offset) }));
}
