import type { BrokerLane } from '../sender/broker-lane.ts';
import { CallbackDeadline } from '../sender/deadline-queue.ts';
import type { PartitionSequencer } from '../sender/partition-sequencer.ts';
import type { ProducerBatch } from './batch.ts';
import type { TopicState } from './topic-state.ts';

/** What a partition's queue calls when one of its times has come. */
export interface PartitionQueueOwner {
  createSequencer(queue: PartitionQueue): PartitionSequencer;
  onDeliveryTimeout(batch: ProducerBatch, nowMs: number): void;
  onLinger(queue: PartitionQueue): void;
  onRetryTime(queue: PartitionQueue, nowMs: number): void;
  onResumeTime(queue: PartitionQueue, nowMs: number): void;
}

/** One partition: the batches that wait for numbers, and its sequencer, which has those that carry some. */
export class PartitionQueue {
  readonly topic: TopicState;
  readonly partition: number;
  readonly sequencer: PartitionSequencer;

  /** The broker that leads the partition; `null` while none is known. */
  lane: BrokerLane | null = null;
  leaderEpoch = -1;

  /** Takes records. */
  open: ProducerBatch | null = null;
  /** Closed, oldest first. */
  readonly ready: ProducerBatch[] = [];
  /** Rule C18: the open batch may leave although it is not full. */
  openIsDue = false;
  /** In the sender's list for the end of this turn. */
  isInTurn = false;
  /** In its lane's list of partitions whose open batch waits for an answer. */
  isLingering = false;
  /** In its lane's list of partitions to look at. */
  isInLane = false;

  /** Capacity that the last batch needed: the next one starts with it. */
  capacityHintBytes = 0;
  /** Failures since the last success: what the pause before the next attempt grows with. */
  failures = 0;
  retryAtMs = 0;
  unknownTopicAnswers = 0;
  /** When a loss was last put into words: a log that is cut again and again must not fill another. */
  lossWarnedAtMs = Number.NEGATIVE_INFINITY;

  readonly linger: CallbackDeadline;
  readonly retry: CallbackDeadline;
  readonly resume: CallbackDeadline;
  readonly onDeliveryTimeout: (batch: ProducerBatch, nowMs: number) => void;

  constructor(topic: TopicState, partition: number, owner: PartitionQueueOwner) {
    this.topic = topic;
    this.partition = partition;
    this.linger = new CallbackDeadline(() => owner.onLinger(this));
    this.retry = new CallbackDeadline((nowMs) => owner.onRetryTime(this, nowMs));
    this.resume = new CallbackDeadline((nowMs) => owner.onResumeTime(this, nowMs));
    this.onDeliveryTimeout = (batch, nowMs) => owner.onDeliveryTimeout(batch, nowMs);
    this.sequencer = owner.createSequencer(this);
  }

  /** Whether anything of the partition is under way, so that its end will make room for the open batch (C18). */
  get isBusy(): boolean {
    return this.sequencer.outstanding > 0 || this.ready.length > 0;
  }

  /** Whether anybody waits for a batch of the partition. */
  get isWaitedFor(): boolean {
    return (
      this.open !== null || this.ready.length > 0 || this.sequencer.numbered.some(({ state }) => state !== 'settled')
    );
  }

  /** Batches without numbers, oldest first. A copy: they may be taken out meanwhile. */
  get unsent(): ProducerBatch[] {
    return this.open === null ? [...this.ready] : [...this.ready, this.open];
  }

  /** Takes a batch that never got numbers out of the queue. */
  removeUnsent(batch: ProducerBatch): void {
    if (this.open === batch) {
      this.open = null;
      this.openIsDue = false;
      return;
    }
    const index = this.ready.indexOf(batch);
    if (index >= 0) this.ready.splice(index, 1);
  }
}
