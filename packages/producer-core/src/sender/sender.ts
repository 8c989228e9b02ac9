import type { Accumulator } from '../accumulator/accumulator.ts';
import type { ProducerBatch } from '../accumulator/batch.ts';
import type { PartitionQueue } from '../accumulator/partition-queue.ts';
import { type DeliveryError, ProducerFencedError, TransportError } from '../errors.ts';
import type { Observer } from '../observe/observer.ts';
import type { ResolvedOptions } from '../options.ts';
import { stampBatch } from '../record-batch/index.ts';
import { protocolErrorName } from '../transport/protocol-errors.ts';
import type { PartitionResult, ProducerIdentity } from '../transport/transport.ts';
import type { Attempt } from './attempt.ts';
import { BrokerLane } from './broker-lane.ts';
import type { DeadlineQueue } from './deadline-queue.ts';
import {
  authorizationError,
  closedError,
  deliveryTimeoutError,
  internalError,
  lostError,
  refusedError,
  tooLargeError,
} from './failures.ts';
import { type BumpReport, PartitionSequencer, type SequencerEffects } from './partition-sequencer.ts';
import { replyRow } from './reply-table.ts';
import { backoffMs } from './retry-policy.ts';
import type { SenderStats } from './sender-stats.ts';
import { splitInTwo } from './split.ts';

/** Answers in a row that a topic is unknown before its batches fail (rule C11). A new topic takes a moment to be known everywhere. */
export const unknownTopicLimit = 5;

/** What the sender needs from its surroundings. */
export interface SenderPorts {
  readonly options: ResolvedOptions;
  readonly deadlines: DeadlineQueue;
  readonly observer: Observer;
  readonly stats: SenderStats;
  /** Runs work outside any caller's async context (rule C17). */
  readonly outsideCallers: <T>(work: () => T) => T;
  wantMetadata(queue: PartitionQueue): void;
  refreshMetadataIfOld(nowMs: number): void;
  identity(): ProducerIdentity;
  /** Asks for a new producer id, and hands it to `takeIdentity` (C10). */
  requestIdentity(queue: PartitionQueue): void;
  /** The producer stops (C11). */
  fatal(error: Error): void;
}

/** Ready, drain, stamp, send, settle. One pass at a time; what a pass makes possible leaves at its end. */
export class Sender {
  readonly #ports: SenderPorts;
  readonly #accumulator: () => Accumulator;
  readonly #lanes = new Map<number, BrokerLane>();
  #turn: PartitionQueue[] = [];
  #dirtyLanes: BrokerLane[] = [];
  #isPassing = false;
  #stopped = false;

  constructor(ports: SenderPorts, accumulator: () => Accumulator) {
    this.#ports = ports;
    this.#accumulator = accumulator;
  }

  lane(brokerId: number): BrokerLane {
    let lane = this.#lanes.get(brokerId);
    if (lane === undefined) {
      lane = new BrokerLane(brokerId);
      this.#lanes.set(brokerId, lane);
    }
    return lane;
  }

  get requestsInFlight(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) count += lane.inFlight;
    return count;
  }

  // ---- ready: what makes a partition worth a look

  /** Rule C18: looked at once, at the end of the turn, however many records went in. */
  recordAppended(queue: PartitionQueue): void {
    if (queue.isInTurn) return;
    queue.isInTurn = true;
    if (this.#turn.push(queue) === 1) {
      this.#ports.outsideCallers(() => this.#ports.options.runtime.endOfTurn(this.#onEndOfTurn));
    }
  }

  readonly #onEndOfTurn = (): void => {
    const turn = this.#turn;
    this.#turn = [];
    const { lingerMs } = this.#ports.options;
    this.#pass(() => {
      for (const queue of turn) {
        queue.isInTurn = false;
        if (queue.open === null) continue;
        if (lingerMs === 0 || !queue.isBusy) this.openIsDue(queue);
        else if (queue.linger.heapIndex < 0) this.#ports.deadlines.set(queue.linger, queue.open.createdAtMs + lingerMs);
      }
    });
  };

  /** The open batch may leave although it is not full. */
  openIsDue(queue: PartitionQueue): void {
    queue.openIsDue = true;
    this.wake(queue);
  }

  /** Looks at the partition at the end of this pass, or at once when there is none. */
  wake(queue: PartitionQueue): void {
    if (this.#stopped) return;
    const { lane } = queue;
    if (lane === null) {
      this.#ports.wantMetadata(queue);
      return;
    }
    if (!queue.isInLane) {
      queue.isInLane = true;
      lane.ready.push(queue);
    }
    this.#touch(lane);
    if (!this.#isPassing) this.#ports.outsideCallers(() => this.#pass(nothing));
  }

  leaderIs(queue: PartitionQueue, brokerId: number, leaderEpoch: number): void {
    if (leaderEpoch >= 0 && leaderEpoch < queue.leaderEpoch) return;
    const lane = brokerId < 0 ? null : this.lane(brokerId);
    const isNew = lane !== queue.lane || leaderEpoch !== queue.leaderEpoch;
    const isFirst = queue.leaderEpoch === -1 && queue.lane === null;
    queue.leaderEpoch = leaderEpoch;
    if (!isNew) return;
    queue.lane = lane;
    queue.isInLane = false;
    this.#pass(() => {
      queue.sequencer.leaderChanged(this.#now());
      if (lane === null) return;
      if (!isFirst) {
        const { topic, partition } = queue;
        this.#ports.observer.event({ type: 'leader-changed', topic: topic.topic, partition, brokerId, leaderEpoch });
      }
      // The pause was for the old leader.
      queue.retryAtMs = 0;
      this.wake(queue);
    });
  }

  // ---- drain, stamp, send

  /** Does `work`, then sends what it made possible. Nested calls are part of the outer pass. */
  #pass(work: () => void): void {
    if (this.#isPassing) {
      work();
      return;
    }
    this.#isPassing = true;
    try {
      work();
      for (let lane = this.#dirtyLanes.pop(); lane !== undefined; lane = this.#dirtyLanes.pop()) {
        lane.dirty = false;
        this.#drain(lane);
      }
    } catch (error) {
      // A broken invariant: nothing may be sent on such ground, and nobody may wait for ever (C13).
      this.#ports.fatal(internalError(error));
    } finally {
      this.#isPassing = false;
    }
  }

  #touch(lane: BrokerLane): void {
    if (lane.dirty) return;
    lane.dirty = true;
    this.#dirtyLanes.push(lane);
  }

  /** Fills requests from the partitions in turn, one batch of each, while the broker may have another request. */
  #drain(lane: BrokerLane): void {
    const { maxInFlight, maxRequestSize } = this.#ports.options;
    while (lane.inFlight < maxInFlight && lane.ready.length > 0 && !this.#stopped) {
      const nowMs = this.#now();
      const attempts: Attempt[] = [];
      const turn = lane.ready.splice(0);
      let sizeBytes = 0;
      let taken = 0;
      for (; taken < turn.length; taken++) {
        const queue = turn[taken]!;
        if (queue.lane !== lane || !queue.isInLane) continue;
        const batch = this.#nextBatch(queue, lane, nowMs);
        if (batch === null) {
          queue.isInLane = false;
          continue;
        }
        if (attempts.length > 0 && sizeBytes + batch.bytes.length > maxRequestSize) break;
        sizeBytes += batch.bytes.length;
        attempts.push(this.#start(batch, lane, nowMs));
        // It may have another one for the next request.
        lane.ready.push(queue);
      }
      if (taken < turn.length) lane.ready.unshift(...turn.slice(taken));
      if (attempts.length === 0) return;
      this.#ports.refreshMetadataIfOld(nowMs);
      this.#dispatch(lane, attempts);
    }
  }

  /** The batch that may leave now; not numbered yet when it leaves for the first time. */
  #nextBatch(queue: PartitionQueue, lane: BrokerLane, nowMs: number): ProducerBatch | null {
    if (nowMs < queue.retryAtMs) return null;
    const next = queue.sequencer.next(lane, nowMs);
    if (next === null) return null;
    if (next !== 'unsent') return next.prepared ? next : null;
    if (queue.ready.length === 0) {
      if (queue.open === null || !queue.openIsDue) return null;
      this.#accumulator().close(queue);
    }
    const batch = queue.ready[0];
    return batch?.prepared ? batch : null;
  }

  #start(batch: ProducerBatch, lane: BrokerLane, nowMs: number): Attempt {
    const { queue } = batch;
    const { sequencer } = queue;
    if (queue.ready[0] === batch) {
      queue.ready.shift();
      sequencer.assignNumbers(batch);
    }
    if (!batch.isStamped) {
      stampBatch(batch.bytes, batch.bytes.length, batch);
      batch.isStamped = true;
      this.#ports.observer.batchDrained(batch);
    }
    if (batch.state !== 'settled') batch.moveTo('inFlight');
    const attempt: Attempt = {
      batch,
      lane,
      connection: lane.connection,
      number: batch.attempts + 1,
      startedAtMs: nowMs,
      view: null,
    };
    sequencer.attemptStarted(batch, attempt);
    const { stats } = this.#ports;
    stats.attempts++;
    if (attempt.number > 1) stats.retries++;
    this.#ports.observer.attemptStarted(attempt);
    return attempt;
  }

  #dispatch(lane: BrokerLane, attempts: readonly Attempt[]): void {
    const { transport, acks, requestTimeoutMs } = this.#ports.options;
    lane.inFlight++;
    this.#ports.stats.requests++;
    let reply: Promise<PartitionResult[]>;
    try {
      reply = transport.produce(lane.brokerId, {
        acks,
        timeoutMs: requestTimeoutMs,
        partitions: attempts.map(({ batch }) => ({
          topic: batch.queue.topic.topic,
          partition: batch.queue.partition,
          batch: batch.bytes,
        })),
      });
    } catch (error) {
      reply = Promise.reject(error);
    }
    reply.then(
      (results) => this.#onReply(lane, attempts, results),
      (reason: unknown) => this.#onLost(lane, attempts, reason),
    );
  }

  // ---- settle

  #onReply(lane: BrokerLane, attempts: readonly Attempt[], results: readonly PartitionResult[]): void {
    lane.inFlight--;
    this.#pass(() => {
      this.#touch(lane);
      for (let index = 0; index < attempts.length; index++) {
        const attempt = attempts[index]!;
        const { queue } = attempt.batch;
        const result = results[index];
        if (result === undefined || result.partition !== queue.partition || result.topic !== queue.topic.topic) {
          this.#settleLost(
            attempt,
            new TransportError('The transport’s answer does not match the request.', { sent: 'maybe' }),
          );
        } else this.#settleAnswer(attempt, result);
      }
    });
  }

  #onLost(lane: BrokerLane, attempts: readonly Attempt[], reason: unknown): void {
    lane.inFlight--;
    // C7: what is acknowledged from here on says nothing about the requests of the connection that ended.
    lane.connection++;
    this.#pass(() => {
      this.#touch(lane);
      const error =
        reason instanceof TransportError
          ? reason
          : new TransportError('The transport failed.', { sent: 'maybe', cause: reason });
      for (const attempt of attempts) this.#settleLost(attempt, error);
    });
  }

  #settleLost(attempt: Attempt, error: TransportError): void {
    const { batch } = attempt;
    const { queue } = batch;
    const { observer, stats } = this.#ports;
    const nowMs = this.#now();
    const left = error.sent !== 'no';
    stats.attemptsLost++;
    if (observer.watchesAttempts) {
      observer.attemptEnded(attempt, {
        endedAtMs: nowMs,
        action: 'lost',
        effect: left ? 'maybe' : 'none',
        errorCode: null,
        errorName: error.code,
        isOldest: queue.sequencer.numbered[0] === batch,
        baseOffset: -1n,
        error,
      });
    }
    if (!queue.sequencer.attemptEnded(attempt, left)) return;
    if (left) {
      batch.unanswered++;
      batch.lostAtMs = nowMs;
    }
    batch.lastError = error;
    if (batch.state === 'settled') this.#releaseIfDone(batch);
    else if (!error.retriable) {
      this.#fail(batch, lostError(batch, error));
      queue.sequencer.ended(batch, 'refused', nowMs);
      this.#makeRoom(queue);
      return;
    }
    this.#pause(queue, nowMs);
    this.#ports.wantMetadata(queue);
    queue.sequencer.retriable(batch, nowMs);
    this.#makeRoom(queue);
  }

  /** Rule C11, row by row. */
  #settleAnswer(attempt: Attempt, result: PartitionResult): void {
    const { batch } = attempt;
    const { queue } = batch;
    const { sequencer } = queue;
    const { observer, stats } = this.#ports;
    const nowMs = this.#now();
    const row = replyRow(result.errorCode);
    if (observer.watchesAttempts) {
      const error = result.errorCode === 0 ? null : refusedError(batch, result);
      observer.attemptEnded(attempt, {
        endedAtMs: nowMs,
        action: row.action,
        effect: row.effect,
        errorCode: result.errorCode,
        errorName: error === null ? null : protocolErrorName(result.errorCode),
        isOldest: sequencer.numbered[0] === batch,
        baseOffset: result.baseOffset,
        error,
      });
    }
    stats.answered(row.action);
    if (!sequencer.attemptEnded(attempt, true)) return;
    if (row.effect === 'maybe') batch.unanswered++;
    if (row.effect !== 'stored') batch.lastError = refusedError(batch, result);
    if (batch.state === 'settled') this.#releaseIfDone(batch);

    switch (row.action) {
      case 'stored':
      case 'duplicate':
        queue.failures = 0;
        queue.unknownTopicAnswers = 0;
        if (row.action === 'stored') batch.logAppendTimeMs = result.logAppendTimeMs;
        sequencer.stored(
          attempt,
          row.action === 'stored' ? result.baseOffset : -1n,
          nowMs,
          this.#rememberedUntilMs(batch, nowMs),
        );
        break;
      case 'unknown-topic':
        if (++queue.unknownTopicAnswers >= unknownTopicLimit && batch.state !== 'settled' && !batch.knownStored) {
          this.#fail(batch, refusedError(batch, result));
          sequencer.ended(batch, 'refused', nowMs);
          break;
        }
        this.#retryElsewhere(queue, result, nowMs);
        sequencer.retriable(batch, nowMs);
        break;
      case 'refresh-and-retry':
        this.#retryElsewhere(queue, result, nowMs);
        sequencer.retriable(batch, nowMs);
        break;
      case 'retry':
        this.#pause(queue, nowMs);
        sequencer.retriable(batch, nowMs);
        break;
      case 'out-of-order':
      case 'unknown-producer':
        sequencer.outOfOrder(batch, row.action, result.logStartOffset, nowMs);
        break;
      case 'split':
        this.#splitOrFail(batch, result, nowMs);
        break;
      case 'fenced':
        this.#ports.fatal(this.#fencedError(batch, result));
        return;
      case 'unauthorized':
      case 'refused':
        this.#refuse(batch, result, nowMs);
    }
    this.#makeRoom(queue);
  }

  /**
   * Until when the broker surely remembers the producer after it stored this batch. It counts from the newest record's timestamp
   * (rule C19), by its own clock and at intervals of its own: hence half of the time.
   */
  #rememberedUntilMs(batch: ProducerBatch, nowMs: number): number {
    const { producerIdExpirationMs, runtime } = this.#ports.options;
    const ageMs = Math.max(0, runtime.wallClockMs() - batch.maxTimestampMs);
    return nowMs + producerIdExpirationMs / 2 - ageMs;
  }

  #refuse(batch: ProducerBatch, result: PartitionResult, nowMs: number): void {
    const { sequencer } = batch.queue;
    if (batch.state !== 'settled') {
      if (batch.knownStored) this.#acknowledge(batch, -1n);
      else {
        const isDenied = replyRow(result.errorCode).action === 'unauthorized';
        this.#fail(batch, isDenied ? authorizationError(batch, result) : refusedError(batch, result));
      }
      sequencer.ended(batch, 'refused', nowMs);
    } else this.#askAgain(batch, nowMs);
  }

  /** The answer did not settle a batch of which only the fate is still wanted (C9). */
  #askAgain(batch: ProducerBatch, nowMs: number): void {
    this.#pause(batch.queue, nowMs);
    batch.queue.sequencer.retriable(batch, nowMs);
  }

  #splitOrFail(batch: ProducerBatch, result: PartitionResult, nowMs: number): void {
    const { queue } = batch;
    const { sequencer } = queue;
    if (batch.state === 'settled' || batch.knownStored) {
      this.#refuse(batch, result, nowMs);
    } else if (batch.recordCount === 1 || batch.unanswered > 0) {
      // With an unanswered attempt the whole may be stored: its halves would then be taken for new records.
      this.#fail(batch, tooLargeError(batch, result));
      sequencer.ended(batch, 'refused', nowMs);
    } else if (sequencer.state === 'resolving') {
      sequencer.refusedWhileResolving(batch, nowMs);
    } else {
      const accumulator = this.#accumulator();
      const halves = splitInTwo(batch, accumulator.flushes, accumulator.codecs);
      for (const half of halves) {
        this.#ports.deadlines.set(half, batch.atMs);
        accumulator.pool.charge(half.chargedBytes);
      }
      this.#ports.deadlines.remove(batch);
      batch.dropSettlers();
      batch.moveTo('settled');
      sequencer.replace(batch, halves);
      accumulator.flushes.leave(batch.flushGroup);
      accumulator.release(batch);
      for (const half of halves) accumulator.prepare(half);
      this.#ports.stats.splits++;
      this.#ports.observer.batchSplit(batch, halves);
      const { topic, partition } = queue;
      this.#ports.observer.event({
        type: 'batch-split',
        topic: topic.topic,
        partition,
        recordCount: batch.recordCount,
      });
    }
  }

  /** C18: a reply made room, so the open batch may leave. */
  #makeRoom(queue: PartitionQueue): void {
    if (queue.open !== null) queue.openIsDue = true;
    this.wake(queue);
  }

  #retryElsewhere(queue: PartitionQueue, result: PartitionResult, nowMs: number): void {
    this.#pause(queue, nowMs);
    const hint = result.currentLeader;
    const isNews = hint !== undefined && hint.brokerId >= 0 && hint.leaderEpoch > queue.leaderEpoch;
    // The hint names the leader, so there is nothing to ask and nothing to wait for.
    if (isNews) this.leaderIs(queue, hint.brokerId, hint.leaderEpoch);
    else {
      queue.sequencer.leaderChanged(nowMs);
      this.#ports.wantMetadata(queue);
    }
  }

  /** The pause before the partition's next attempt. Several attempts that end together are one failure. */
  #pause(queue: PartitionQueue, nowMs: number): void {
    const { options, deadlines } = this.#ports;
    if (nowMs < queue.retryAtMs) return;
    queue.failures++;
    queue.retryAtMs = nowMs + backoffMs(options, queue.failures, options.runtime.random());
    deadlines.set(queue.retry, queue.retryAtMs);
  }

  #acknowledge(batch: ProducerBatch, baseOffset: bigint): void {
    const { observer, stats, deadlines } = this.#ports;
    const accumulator = this.#accumulator();
    deadlines.remove(batch);
    stats.recordsAcknowledged += batch.recordCount;
    accumulator.pendingRecords -= batch.recordCount;
    if (observer.watchesBatches) this.#observeSettled(batch, 'stored', baseOffset, null);
    const { topic, partition } = batch.queue;
    batch.acknowledge(
      { topic: topic.topic, partition, baseOffset, logAppendTimeMs: batch.logAppendTimeMs },
      observer.callbackFailed,
    );
    this.#afterSettled(batch);
  }

  #fail(batch: ProducerBatch, error: DeliveryError): void {
    const { observer, stats, deadlines } = this.#ports;
    const accumulator = this.#accumulator();
    deadlines.remove(batch);
    if (error.fate === 'unknown') stats.recordsUnknown += batch.recordCount;
    else stats.recordsNotStored += batch.recordCount;
    accumulator.pendingRecords -= batch.recordCount;
    if (observer.watchesBatches) this.#observeSettled(batch, error.fate, -1n, error);
    const unheard = batch.reject(error, observer.callbackFailed);
    if (unheard > 0) observer.unheard(batch.queue.topic.topic, batch.queue.partition, unheard, error);
    this.#afterSettled(batch);
  }

  #afterSettled(batch: ProducerBatch): void {
    const accumulator = this.#accumulator();
    accumulator.flushes.leave(batch.flushGroup);
    this.#releaseIfDone(batch);
  }

  /** Its bytes are needed while an attempt holds them, and while its partition may have to ask about it (C9). */
  #releaseIfDone(batch: ProducerBatch): void {
    if (batch.attempt === null && (!batch.isTracked || batch.knownStored)) this.#accumulator().release(batch);
  }

  #observeSettled(
    batch: ProducerBatch,
    fate: 'stored' | 'not-stored' | 'unknown',
    baseOffset: bigint,
    error: Error | null,
  ): void {
    this.#ports.observer.batchSettled(batch, {
      fate,
      attempts: batch.attempts,
      createdAtMs: batch.createdAtMs,
      settledAtMs: this.#now(),
      baseOffset,
      error,
    });
  }

  #fencedError(batch: ProducerBatch, result: PartitionResult): ProducerFencedError {
    return new ProducerFencedError(
      `Another producer has taken over producer id ${batch.producerId}: the broker no longer takes epoch ${batch.epoch}. This producer has stopped.`,
      {
        fate: batch.fate === 'not-stored' ? 'not-stored' : 'unknown',
        attempts: batch.attempts,
        topic: batch.queue.topic.topic,
        partition: batch.queue.partition,
        cause: refusedError(batch, result),
      },
    );
  }

  // ---- what a partition's queue asks for

  createSequencer(queue: PartitionQueue): PartitionSequencer {
    return new PartitionSequencer(this.#ports.identity(), this.#ports.options, this.#effectsFor(queue));
  }

  #effectsFor(queue: PartitionQueue): SequencerEffects {
    const { topic, partition } = queue;
    return {
      acknowledge: (batch, baseOffset) => this.#acknowledge(batch, baseOffset),
      requeue: (batches) => {
        for (const batch of batches) batch.moveTo('ready');
        queue.ready.unshift(...batches);
      },
      forgotten: (batch) => this.#releaseIfDone(batch),
      resumeAt: (atMs) => this.#ports.deadlines.set(queue.resume, atMs),
      resolutionStarted: (trigger) => {
        this.#ports.stats.resolutions++;
        this.#ports.observer.event({ type: 'resolving', topic: topic.topic, partition, trigger });
      },
      bumped: (report) => this.#bumped(queue, report),
      requestIdentity: () => this.#ports.requestIdentity(queue),
    };
  }

  #bumped(queue: PartitionQueue, { trigger, renumbered, dataLossSuspected }: BumpReport): void {
    const { observer, stats } = this.#ports;
    const { topic, partition, sequencer } = queue;
    stats.epochBumps++;
    // A broker that refuses every number must not make the producer count epochs at the speed of its replies.
    if (trigger === 'out-of-order' || trigger === 'unknown-producer') this.#pause(queue, this.#now());
    if (dataLossSuspected) {
      stats.dataLossSuspected++;
      observer.event({ type: 'data-loss-suspected', topic: topic.topic, partition, trigger });
      observer.warn(
        `Partition ${topic.topic}-${partition} does not have what it acknowledged to this producer (${trigger}). ` +
          'Look for an unclean leader election or a log that was cut.',
        'SENDONCE_DATA_LOSS_SUSPECTED',
      );
    }
    const { producerId, epoch } = sequencer;
    observer.event({ type: 'epoch-bumped', topic: topic.topic, partition, producerId, epoch, trigger, renumbered });
    this.wake(queue);
  }

  onDeliveryTimeout(batch: ProducerBatch, nowMs: number): void {
    const { queue } = batch;
    const { deliveryTimeoutMs } = this.#ports.options;
    this.#pass(() => {
      if (!batch.isTracked) {
        queue.removeUnsent(batch);
        this.#fail(batch, deliveryTimeoutError(batch, deliveryTimeoutMs));
      } else {
        if (batch.knownStored) this.#acknowledge(batch, -1n);
        else this.#fail(batch, deliveryTimeoutError(batch, deliveryTimeoutMs));
        queue.sequencer.ended(batch, 'delivery-timeout', nowMs);
      }
      this.#makeRoom(queue);
    });
  }

  onLinger(queue: PartitionQueue): void {
    this.#pass(() => {
      if (queue.open !== null) this.openIsDue(queue);
    });
  }

  onRetryTime(queue: PartitionQueue): void {
    this.#pass(() => this.wake(queue));
  }

  onResumeTime(queue: PartitionQueue, nowMs: number): void {
    this.#pass(() => {
      queue.sequencer.resume(nowMs);
      this.wake(queue);
    });
  }

  takeIdentity(queue: PartitionQueue, identity: ProducerIdentity): void {
    this.#pass(() => {
      queue.sequencer.takeIdentity(identity);
      this.wake(queue);
    });
  }

  /** A batch that could not be prepared. */
  batchFailed(batch: ProducerBatch, error: DeliveryError): void {
    this.#pass(() => {
      if (batch.isTracked) {
        this.#fail(batch, error);
        batch.queue.sequencer.ended(batch, 'refused', this.#now());
      } else {
        batch.queue.removeUnsent(batch);
        this.#fail(batch, error);
      }
      this.#makeRoom(batch.queue);
    });
  }

  /** Fails every batch of a topic that can't be used; numbered ones are resolved as after any refusal. */
  failTopic(queues: readonly PartitionQueue[], error: (batch: ProducerBatch) => DeliveryError): void {
    this.#pass(() => {
      for (const queue of queues) {
        for (const batch of [...queue.ready, ...(queue.open === null ? [] : [queue.open])]) {
          queue.removeUnsent(batch);
          this.#fail(batch, error(batch));
        }
        for (const batch of [...queue.sequencer.numbered]) {
          if (batch.state === 'settled' || batch.attempt !== null) continue;
          if (batch.knownStored) this.#acknowledge(batch, -1n);
          else this.#fail(batch, error(batch));
          queue.sequencer.ended(batch, 'refused', this.#now());
        }
      }
    });
  }

  /** Fails everything that is left, each record with its fate; nothing leaves any more. */
  stop(queues: Iterable<PartitionQueue>, error: (batch: ProducerBatch) => DeliveryError = closedError): void {
    this.#stopped = true;
    for (const queue of queues) {
      const { deadlines } = this.#ports;
      for (const deadline of [queue.linger, queue.retry, queue.resume]) deadlines.remove(deadline);
      for (const batch of [...queue.sequencer.numbered, ...queue.ready, ...(queue.open === null ? [] : [queue.open])]) {
        batch.isTracked = false;
        if (batch.state === 'settled') this.#releaseIfDone(batch);
        else if (batch.knownStored) this.#acknowledge(batch, -1n);
        else this.#fail(batch, error(batch));
      }
      queue.open = null;
      queue.ready.length = 0;
    }
  }

  /** Opens every queue's batch for leaving (flush). */
  flushOpen(queues: Iterable<PartitionQueue>): void {
    this.#pass(() => {
      for (const queue of queues) if (queue.open !== null) this.openIsDue(queue);
    });
  }

  #now(): number {
    return this.#ports.options.runtime.monotonicMs();
  }
}

const nothing = (): void => {};
