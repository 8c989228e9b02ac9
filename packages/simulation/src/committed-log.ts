import type { PartitionHandle } from '@sendonce/transport-memory';
import type { PartitionEvidence, PartitionLife, ReplicaEvidence } from './evidence.ts';
import { type LoggedBatch, readLoggedBatch } from './log-reader.ts';
import type { World } from './world.ts';

/** Decoded batches by their bytes: replicas hold the same ones, and bytes in a log don't change. */
const decoded = new WeakMap<Buffer, LoggedBatch>();

function decode(bytes: Buffer): LoggedBatch {
  let batch = decoded.get(bytes);
  if (batch === undefined) {
    batch = readLoggedBatch(bytes);
    decoded.set(bytes, batch);
  }
  return batch;
}

/** How long a request may be under way after its producer gave it up, and how far the wall clock may be off. */
const strayMs = 5000;

/** Everything that was ever committed to a partition, what was deleted since included. */
export class CommittedLog {
  readonly handle: PartitionHandle;
  readonly #life: PartitionLife;
  readonly #world: Omit<World, 'topics'>;
  /** Batches that were deleted, in offset order. */
  readonly #deleted: LoggedBatch[] = [];

  constructor(world: Omit<World, 'topics'>, life: PartitionLife) {
    this.#world = world;
    this.#life = life;
    this.handle = world.cluster.partition(life.topic, life.partition);
  }

  /**
   * Deletes what no producer can have under way any more, as retention does: a repeat of a batch that is gone, brought to a broker
   * that lost its memory of it, would be stored again, and nobody promises otherwise.
   */
  deleteOldRecords(): void {
    const { plan, runtime, cluster } = this.#world;
    if (this.handle.leader < 0 || cluster.broker(this.handle.leader).state !== 'running') return;
    const longestMs = Math.max(...plan.workloads.map(({ producer }) => producer.deliveryTimeoutMs));
    const oldMs = runtime.wallClockMs() - 2 * longestMs - strayMs;
    const { highWatermark } = this.handle;
    let upTo = this.handle.logStartOffset;
    const batches = this.handle.batches().map(decode);
    for (const { lastOffset, maxTimestampMs } of batches) {
      if (maxTimestampMs > oldMs || lastOffset >= highWatermark) break;
      upTo = lastOffset + 1;
    }
    this.handle.deleteRecordsBefore(upTo);
    // Only what is gone: a leader that has not heard of its election yet deletes nothing.
    const startOffset = this.handle.logStartOffset;
    this.#deleted.push(...batches.filter(({ lastOffset }) => lastOffset < startOffset && !this.#isKept(lastOffset)));
  }

  #isKept(lastOffset: number): boolean {
    const newest = this.#deleted.at(-1);
    return newest !== undefined && newest.lastOffset >= lastOffset;
  }

  /** What the leader has, and what was deleted. Without a leader: what any replica that may become it has. */
  committedBatches(): LoggedBatch[] {
    const { leader, isr } = this.handle;
    const current = this.handle.batches(leader < 0 ? isr[0] : leader).map(decode);
    const startOffset = current[0]?.baseOffset ?? Number.POSITIVE_INFINITY;
    return [...this.#deleted.filter(({ lastOffset }) => lastOffset < startOffset), ...current];
  }

  evidence(): PartitionEvidence {
    const { handle } = this;
    const leader = handle.leader;
    const replicas = handle.replicas.map(
      (brokerId): ReplicaEvidence => ({
        brokerId,
        isLeader: brokerId === leader,
        inSync: handle.isr.includes(brokerId),
        logStartOffset: handle.log(brokerId)[0]?.baseOffset ?? handle.logEndOffset,
        batches: handle.batches(brokerId).map(decode),
        notebook: handle.producerState(brokerId),
      }),
    );
    const { forgotten, reportedLost, uncleanElections } = this.#fromEvents();
    return {
      ...this.#life,
      batches: this.committedBatches(),
      replicas,
      forgotten,
      reportedLost,
      uncleanElections,
    };
  }

  #fromEvents(): Pick<PartitionEvidence, 'forgotten' | 'reportedLost' | 'uncleanElections'> {
    const forgotten = new Set<bigint>();
    let reportedLost = 0;
    let uncleanElections = 0;
    for (const event of this.#world.testimony) {
      if (!('partition' in event)) continue;
      if (event.topic !== this.#life.topic || event.partition !== this.#life.partition) continue;
      if (event.type === 'producer-forgotten') forgotten.add(event.producerId);
      if (event.type !== 'unclean-election') continue;
      reportedLost += event.recordsLost;
      uncleanElections++;
    }
    return { forgotten, reportedLost, uncleanElections };
  }
}
