import type { StickyPartition } from '../partitioner/sticky-partition.ts';
import type { CallbackDeadline } from '../sender/deadline-queue.ts';
import { Fifo } from './fifo.ts';
import type { PartitionQueue } from './partition-queue.ts';
import type { WaitingRecord } from './waiting-record.ts';

/** Somebody who waits for a topic's metadata without a record. */
export interface TopicArrival {
  readonly deadline: CallbackDeadline;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A topic that a record named. */
export class TopicState {
  readonly topic: string;
  /** By partition number. Empty until the metadata is there. */
  partitions: PartitionQueue[] = [];
  /** Partitions that a topic made again no longer has: they take no new records, and what they hold still has to be settled. */
  readonly gone = new Map<number, PartitionQueue>();
  /** Kafka's id of it, where the cluster gives one: a topic that was deleted and made again has another. */
  topicId: string | undefined;
  /** Records that wait for the topic's metadata, or for a partition that is not in it yet, in the order of their calls. */
  readonly waiting = new Fifo<WaitingRecord>();
  /** What waited is being let in: who comes now goes behind it. */
  isAdmitting = false;
  readonly arrivals = new Set<TopicArrival>();
  refreshedAtMs = Number.NEGATIVE_INFINITY;
  /** Metadata answers in a row that did not know the topic. */
  unknownAnswers = 0;
  /** Why the last question about it failed. */
  lastError: Error | null = null;
  readonly sticky: StickyPartition;
  /** Rule C19 is reported once a topic. */
  hasReportedOldTimestamps = false;

  constructor(topic: string, sticky: StickyPartition) {
    this.topic = topic;
    this.sticky = sticky;
  }

  /** Every partition that may hold something. */
  *queues(): IterableIterator<PartitionQueue> {
    yield* this.partitions;
    yield* this.gone.values();
  }

  /** The topic has this many partitions now, and had more. */
  shrink(partitionCount: number): void {
    for (const queue of this.partitions.splice(partitionCount)) this.gone.set(queue.partition, queue);
  }
}
