import { expect } from 'vitest';
import { ProducerBatch } from '../accumulator/batch.ts';
import { FlushTracker } from '../accumulator/flush-tracker.ts';
import { PartitionQueue } from '../accumulator/partition-queue.ts';
import { TopicState } from '../accumulator/topic-state.ts';
import { DeliveryError } from '../errors.ts';
import { StickyPartition } from '../partitioner/sticky-partition.ts';
import type { Attempt } from './attempt.ts';
import { BrokerLane } from './broker-lane.ts';
import { type BumpReport, PartitionSequencer } from './partition-sequencer.ts';
import type { ResolutionTrigger } from './resolution.ts';

/** One partition in front of a broker that answers what the test says. Batches of two records. */
export class Partition {
  readonly lane = new BrokerLane(1);
  readonly acknowledged: (readonly [sequence: number, offset: bigint])[] = [];
  readonly failed: number[] = [];
  readonly bumps: BumpReport[] = [];
  readonly resumeTimes: number[] = [];
  readonly forgotten: ProducerBatch[] = [];
  readonly requeued: number[] = [];
  readonly resolutions: ResolutionTrigger[] = [];
  identityRequests = 0;
  logsWentBack = 0;
  nowMs = 0;
  readonly queue: PartitionQueue;
  readonly sequencer: PartitionSequencer;
  readonly #flushes = new FlushTracker();

  constructor({ idempotence = true, epoch = 0 } = {}) {
    const limits = { idempotence, maxInFlight: 5 };
    this.sequencer = new PartitionSequencer({ producerId: 7n, epoch }, limits, {
      acknowledge: (batch, offset) => this.#acknowledge(batch, offset),
      requeue: (batches) => {
        this.requeued.push(batches.length);
        for (const batch of batches) batch.moveTo('ready');
        this.queue.ready.unshift(...batches);
      },
      forgotten: (batch) => this.forgotten.push(batch),
      resumeAt: (atMs) => this.resumeTimes.push(atMs),
      bumped: (report) => this.bumps.push(report),
      resolutionStarted: (trigger) => this.resolutions.push(trigger),
      logWentBack: () => this.logsWentBack++,
      requestIdentity: () => this.identityRequests++,
    });
    const topic = new TopicState('t', new StickyPartition(1, () => 0));
    this.queue = new PartitionQueue(topic, 0, {
      createSequencer: () => this.sequencer,
      onDeliveryTimeout: () => {},
      onLinger: () => {},
      onRetryTime: () => {},
      onResumeTime: () => {},
    });
    this.queue.lane = this.lane;
  }

  add(count: number): ProducerBatch[] {
    return Array.from({ length: count }, () => {
      const batch = new ProducerBatch(this.queue, null, this.nowMs, this.#flushes.enter());
      batch.recordCount = 2;
      batch.prepared = true;
      batch.moveTo('ready');
      this.queue.ready.push(batch);
      return batch;
    });
  }

  /** Sends what may leave; returns the attempts by their base sequences. */
  drain(): Attempt[] {
    const attempts: Attempt[] = [];
    for (;;) {
      const next = this.sequencer.next(this.lane, this.nowMs);
      const batch = next === 'unsent' ? this.queue.ready[0] : next;
      if (batch === null || batch === undefined) return attempts;
      if (next === 'unsent') {
        this.queue.ready.shift();
        this.sequencer.assignNumbers(batch);
      }
      if (batch.state !== 'settled') batch.moveTo('inFlight');
      const attempt = {
        batch,
        lane: this.lane,
        connection: this.lane.connection,
        number: batch.attempts + 1,
        startedAtMs: this.nowMs,
        view: null,
        ofFormerTopic: false,
      };
      this.sequencer.attemptStarted(batch, attempt);
      attempts.push(attempt);
    }
  }

  /** Sends exactly one batch. */
  only(): Attempt {
    const attempts = this.drain();
    expect(attempts).toHaveLength(1);
    return attempts[0]!;
  }

  stored(attempt: Attempt, offset: bigint): void {
    this.sequencer.attemptEnded(attempt, true);
    this.sequencer.stored(attempt, offset, this.nowMs, this.nowMs + 500_000);
  }

  outOfOrder(
    attempt: Attempt,
    trigger: 'out-of-order' | 'unknown-producer' = 'out-of-order',
    logStartOffset = 0n,
  ): void {
    this.sequencer.attemptEnded(attempt, true);
    this.sequencer.outOfOrder(attempt.batch, trigger, logStartOffset, this.nowMs);
  }

  /** The connection ends; every attempt on it goes unanswered. */
  lose(...attempts: Attempt[]): void {
    this.lane.connection++;
    for (const attempt of attempts) {
      this.sequencer.attemptEnded(attempt, true);
      attempt.batch.unanswered++;
      attempt.batch.lostAtMs = this.nowMs;
      this.sequencer.connectionLost();
      this.sequencer.retriable(attempt.batch, this.nowMs);
    }
  }

  notSent(attempt: Attempt): void {
    this.lane.connection++;
    this.sequencer.attemptEnded(attempt, false);
    this.sequencer.retriable(attempt.batch, this.nowMs);
  }

  /** The broker can't tell now whether it keeps the batch. */
  retry(attempt: Attempt): void {
    attempt.batch.unanswered++;
    this.refuseForNow(attempt);
  }

  /** The broker surely does not keep the batch, and may take it later. */
  refuseForNow(attempt: Attempt): void {
    this.sequencer.attemptEnded(attempt, true);
    this.sequencer.retriable(attempt.batch, this.nowMs);
  }

  /** The delivery timeout passes for a batch that carries numbers. */
  expire(batch: ProducerBatch): void {
    if (batch.knownStored) this.#acknowledge(batch, -1n);
    else this.#fail(batch);
    this.sequencer.ended(batch, 'delivery-timeout', this.nowMs);
  }

  /** The transport gave the attempt up before a byte left, and says that another one is of no use. */
  notSentForGood(attempt: Attempt): void {
    this.sequencer.attemptEnded(attempt, false);
    this.#fail(attempt.batch);
    this.sequencer.ended(attempt.batch, 'refused', this.nowMs);
  }

  /** Too large: two halves, one record each, take its place and its numbers (C11). */
  split(attempt: Attempt): void {
    const { batch } = attempt;
    this.sequencer.attemptEnded(attempt, true);
    const halves = [0, 1].map((at) => {
      const half = new ProducerBatch(this.queue, null, this.nowMs, this.#flushes.enter(), 'retrying');
      const { producerId, epoch, baseSequence } = batch;
      const facts = { recordCount: 1, prepared: true, isTracked: true, left: true };
      return Object.assign(half, facts, { producerId, epoch, baseSequence: baseSequence + at });
    });
    batch.moveTo('settled');
    this.sequencer.replace(batch, halves);
  }

  #acknowledge(batch: ProducerBatch, offset: bigint): void {
    this.acknowledged.push([batch.baseSequence, offset]);
    batch.acknowledge({ topic: 't', partition: 0, baseOffset: offset, logAppendTimeMs: -1 }, () => {});
  }

  #fail(batch: ProducerBatch): void {
    this.failed.push(batch.baseSequence);
    batch.reject(new DeliveryError('late', { fate: 'unknown', attempts: 1, topic: 't', partition: 0 }), () => {});
  }

  /** A gate that is open: one batch went and was acknowledged. */
  open(): this {
    this.add(1);
    this.stored(this.only(), 0n);
    return this;
  }
}

export const sequences = (attempts: readonly Attempt[]): number[] => attempts.map(({ batch }) => batch.baseSequence);
