import type { Runtime } from '@sendonce/producer-core/transport';
import type { RecordEvent } from './events.ts';
import type { LogBatch } from './log-batch.ts';
import { PartitionLog } from './partition-log.ts';
import { type ProducerEntry, ProducerState } from './producer-state.ts';
import type { ProfileRules } from './profile.ts';
import { decodeSnapshot, encodeSnapshot } from './snapshot.ts';

export interface ReplicaOptions {
  readonly topic: string;
  readonly partition: number;
  readonly brokerId: number;
  readonly rules: ProfileRules;
  readonly runtime: Runtime;
  readonly record: RecordEvent;
  readonly segmentBytes: number;
  readonly firstOffset: number;
  readonly producerIdExpirationMs: number;
  readonly producerIdExpirationCheckMs: number;
}

/** One broker's copy of a partition: the log, the producer state that follows from it, and the snapshots of that state. */
export class Replica {
  readonly brokerId: number;
  readonly log: PartitionLog;
  highWatermark: number;
  readonly #options: ReplicaOptions;
  readonly #snapshots = new Map<number, Buffer>();
  #state: ProducerState;
  #lastCheckMs: number;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.brokerId = options.brokerId;
    this.log = new PartitionLog(options);
    this.highWatermark = this.log.logEndOffset;
    this.#state = new ProducerState(options);
    this.#lastCheckMs = options.runtime.monotonicMs();
  }

  /** Offsets of the snapshots, ascending. */
  get snapshotOffsets(): number[] {
    return [...this.#snapshots.keys()].sort((one, other) => one - other);
  }

  /** What is known of a producer now. */
  findProducer(producerId: bigint): ProducerEntry | undefined {
    this.#runDueCheck();
    if (
      this.#options.rules.expiry === 'exact' &&
      this.#state.expireOne(producerId, this.#options.runtime.wallClockMs())
    ) {
      this.#report([producerId], 'idle');
    }
    return this.#state.find(producerId);
  }

  /** A copy of the producer state as it is now. */
  copyState(): Map<bigint, ProducerEntry> {
    this.#runDueCheck();
    if (this.#options.rules.expiry === 'exact') this.expireProducers();
    return new Map(Array.from(this.#state.entries(), ([producerId, entry]) => [producerId, entry.copy()]));
  }

  /** Appends, and takes note of the producer. Returns whether a new segment began: then the state before it is kept (M4). */
  append(batch: LogBatch): boolean {
    this.#runDueCheck();
    const rolls = this.log.rollsFor(batch.sizeBytes);
    if (rolls) this.#takeSnapshot();
    this.log.append(batch);
    this.#state.note(batch);
    return rolls;
  }

  /** Removes what ends at or after `offset`, and the memory of it (M6). */
  truncateTo(offset: number): LogBatch[] {
    const removed = this.log.truncateTo(offset);
    this.highWatermark = Math.min(this.highWatermark, this.log.logEndOffset);
    for (const snapshotOffset of this.#snapshots.keys()) {
      if (snapshotOffset > this.log.logEndOffset) this.#snapshots.delete(snapshotOffset);
    }
    if (removed.length > 0) this.#rebuildState();
    return removed;
  }

  /** Starts again, empty, at `offset`: the leader has nothing older. */
  restartAt(offset: number): void {
    this.log.restartAt(offset);
    this.highWatermark = offset;
    this.#snapshots.clear();
    this.#state = new ProducerState(this.#options);
  }

  deleteBefore(offset: number): void {
    this.log.deleteBefore(offset);
    const oldestSegment = this.log.segmentBaseOffsets[0]!;
    for (const snapshotOffset of this.#snapshots.keys()) {
      if (snapshotOffset < oldestSegment) this.#snapshots.delete(snapshotOffset);
    }
    this.#report(this.#state.forgetBefore(this.log.logStartOffset), 'retention');
  }

  /** What a broker does at start: it reads the newest good snapshot and replays the log after it (M4). */
  restart({ cleanStop }: { readonly cleanStop: boolean }): void {
    if (cleanStop) this.#takeSnapshot();
    this.#rebuildState();
    if (this.#options.rules.restartNarrows) this.#state.narrow(this.#options.rules.snapshotWindow);
    this.#report(this.#state.expire(this.#options.runtime.wallClockMs()), 'idle');
    this.#lastCheckMs = this.#options.runtime.monotonicMs();
  }

  /** Runs the expiry check now, as the broker does at its interval (M5). */
  expireProducers(): bigint[] {
    const gone = this.#state.expire(this.#options.runtime.wallClockMs());
    this.#report(gone, 'idle');
    return gone;
  }

  forgetProducers(): void {
    this.#state = new ProducerState(this.#options);
    this.#snapshots.clear();
  }

  loseSnapshots(): void {
    this.#snapshots.clear();
  }

  /** Flips one bit of each snapshot. */
  damageSnapshots(random: () => number): void {
    for (const bytes of this.#snapshots.values()) {
      const at = Math.floor(random() * bytes.length);
      bytes[at] = bytes[at]! ^ (1 << Math.floor(random() * 8));
    }
  }

  /** The state that the log alone gives, without any snapshot. */
  rebuildFromLog(): Map<bigint, ProducerEntry> {
    const state = new ProducerState(this.#options);
    for (const batch of this.log.batches()) state.note(batch);
    state.forgetBefore(this.log.logStartOffset);
    state.expire(this.#options.runtime.wallClockMs());
    return new Map(state.entries());
  }

  #takeSnapshot(): void {
    const { snapshotWindow } = this.#options.rules;
    this.#snapshots.set(this.log.logEndOffset, encodeSnapshot(this.#state.entries(), snapshotWindow));
  }

  #rebuildState(): void {
    const state = new ProducerState(this.#options);
    let replayFrom = this.log.logStartOffset;
    for (const offset of this.snapshotOffsets.reverse()) {
      const entries = this.#readSnapshot(offset);
      if (entries === null) continue;
      for (const [producerId, entry] of entries) state.restore(producerId, entry);
      replayFrom = Math.max(replayFrom, offset);
      break;
    }
    for (const batch of this.log.batchesFrom(replayFrom)) state.note(batch);
    state.forgetBefore(this.log.logStartOffset);
    this.#state = state;
  }

  #readSnapshot(offset: number): Map<bigint, ProducerEntry> | null {
    try {
      return decodeSnapshot(this.#snapshots.get(offset)!);
    } catch (error) {
      this.#snapshots.delete(offset);
      const { topic, partition, brokerId, record } = this.#options;
      const reason = error instanceof Error ? error.message : String(error);
      record({ type: 'snapshot-refused', topic, partition, brokerId, offset, reason });
      return null;
    }
  }

  /**
   * The broker checks at an interval. Nobody can see an entry between two checks without asking, so the check that was due is
   * made when somebody asks: a broker with nothing to do has no timer, and virtual time can come to an end.
   */
  #runDueCheck(): void {
    const { runtime, producerIdExpirationCheckMs } = this.#options;
    const nowMs = runtime.monotonicMs();
    const checks = Math.floor((nowMs - this.#lastCheckMs) / producerIdExpirationCheckMs);
    if (checks < 1) return;
    this.#lastCheckMs += checks * producerIdExpirationCheckMs;
    const checkedAtMs = runtime.wallClockMs() - (nowMs - this.#lastCheckMs);
    this.#report(this.#state.expire(checkedAtMs), 'idle');
  }

  #report(producerIds: readonly bigint[], reason: 'idle' | 'retention'): void {
    const { topic, partition, brokerId, record } = this.#options;
    for (const producerId of producerIds) {
      record({ type: 'producer-forgotten', topic, partition, brokerId, producerId, reason });
    }
  }
}
