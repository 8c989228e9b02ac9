import type { Accumulator } from '../accumulator/accumulator.ts';
import type { ProducerBatch } from '../accumulator/batch.ts';
import type { PartitionQueue } from '../accumulator/partition-queue.ts';
import { type DeliveryError, TransportError } from '../errors.ts';
import { stampBatch } from '../record-batch/index.ts';
import type { PartitionResult, ProducerIdentity } from '../transport/transport.ts';
import type { Attempt } from './attempt.ts';
import { AttemptOutcomes } from './attempt-outcomes.ts';
import { BrokerLane } from './broker-lane.ts';
import { closedError, deliveryTimeoutError, internalError } from './failures.ts';
import { PartitionSequencer } from './partition-sequencer.ts';
import type { SenderPorts } from './sender-ports.ts';
import { sequencerEffects } from './sequencer-effects.ts';
import { Settlement } from './settlement.ts';

/** Ready, drain, stamp, send, settle. One pass at a time; what a pass makes possible leaves at its end. */
export class Sender {
  readonly #ports: SenderPorts;
  readonly #accumulator: () => Accumulator;
  readonly #settlement: Settlement;
  readonly #outcomes: AttemptOutcomes;
  readonly #lanes = new Map<number, BrokerLane>();
  #turn: PartitionQueue[] = [];
  #dirtyLanes: BrokerLane[] = [];
  #isPassing = false;
  #stopped = false;

  constructor(ports: SenderPorts, accumulator: () => Accumulator) {
    this.#ports = ports;
    this.#accumulator = accumulator;
    this.#settlement = new Settlement(ports, accumulator);
    this.#outcomes = new AttemptOutcomes(ports, accumulator, this.#settlement, {
      roomMade: (queue) => this.#makeRoom(queue),
      leaderIs: (queue, brokerId, leaderEpoch) => this.leaderIs(queue, brokerId, leaderEpoch),
    });
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
    this.#pass(() => {
      for (const queue of turn) {
        queue.isInTurn = false;
        if (queue.open !== null) this.#leaveOrLinger(queue, queue.open);
      }
    });
  };

  /**
   * Rule C18. A broker works on one request of a connection at a time. So what is ready while another one is out gains nothing by
   * leaving, and the partitions share a request if they wait for the answer: for as long as the broker is behind, and `lingerMs`. One
   * attempt must still fit into the delivery timeout then.
   */
  #leaveOrLinger(queue: PartitionQueue, open: ProducerBatch): void {
    const { lane } = queue;
    const { deliveryTimeoutMs, lingerMs, requestTimeoutMs } = this.#ports.options;
    if (queue.openIsDue || lingerMs === 0 || !(queue.isBusy || (lane !== null && lane.inFlight > 0))) {
      this.openIsDue(queue);
      return;
    }
    if (!queue.linger.isSet) {
      const backlogMs = lane === null ? 0 : lane.answerTimes.backlogMs;
      const waitMs = Math.min(lingerMs + backlogMs, deliveryTimeoutMs - requestTimeoutMs);
      this.#ports.deadlines.set(queue.linger, open.createdAtMs + waitMs);
    }
    lane?.linger(queue);
  }

  #endLingering(lane: BrokerLane): void {
    for (const queue of lane.takeLingering()) if (queue.open !== null) this.openIsDue(queue);
  }

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
    queue.lane?.leave(queue);
    queue.lane = lane;
    this.#pass(() => {
      queue.sequencer.leaderChanged(this.#now());
      if (lane === null) return;
      if (!isFirst) {
        const { topic, partition } = queue;
        this.#ports.observer.event({ type: 'leader-changed', topic: topic.topic, partition, brokerId, leaderEpoch });
      }
      // The pause was for the old leader.
      queue.retryAtMs = 0;
      this.#makeRoom(queue);
    });
  }

  /** A topic of the same name has taken the place of the one that was written to, with leader epochs of its own. */
  topicRecreated(queues: Iterable<PartitionQueue>): void {
    for (const queue of queues) {
      queue.leaderEpoch = -1;
      queue.unknownTopicAnswers = 0;
      queue.sequencer.topicRecreated();
    }
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
      const turn = lane.ready;
      lane.ready = [];
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
      if (taken < turn.length) lane.ready = turn.slice(taken).concat(lane.ready);
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
      ofFormerTopic: false,
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
          topicId: batch.queue.topic.topicId,
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
    lane.answerTimes.answered(this.#now() - attempts[0]!.startedAtMs);
    this.#pass(() => {
      this.#requestEnded(lane);
      for (let index = 0; index < attempts.length; index++) {
        const attempt = attempts[index]!;
        const { queue } = attempt.batch;
        const result = results[index];
        if (result === undefined || result.partition !== queue.partition || result.topic !== queue.topic.topic) {
          this.#outcomes.lost(
            attempt,
            new TransportError('The transport’s answer does not match the request.', { sent: 'maybe' }),
          );
        } else this.#outcomes.answered(attempt, result);
      }
    });
  }

  #onLost(lane: BrokerLane, attempts: readonly Attempt[], reason: unknown): void {
    lane.inFlight--;
    // C7: what is acknowledged from here on says nothing about the requests of the connection that ended.
    lane.connection++;
    this.#pass(() => {
      this.#requestEnded(lane);
      const error =
        reason instanceof TransportError
          ? reason
          : new TransportError('The transport failed.', { sent: 'maybe', cause: reason });
      for (const attempt of attempts) this.#outcomes.lost(attempt, error);
    });
  }

  /** C18: with nothing else on its way to the broker, what waited for it leaves. */
  #requestEnded(lane: BrokerLane): void {
    this.#touch(lane);
    if (lane.inFlight === 0) this.#endLingering(lane);
  }

  /** C18: what the partition has may leave, unless its broker is busy. */
  #makeRoom(queue: PartitionQueue): void {
    if (queue.open !== null) this.#leaveOrLinger(queue, queue.open);
    this.wake(queue);
  }

  // ---- what a partition's queue asks for

  createSequencer(queue: PartitionQueue): PartitionSequencer {
    return new PartitionSequencer(
      this.#ports.identity(),
      this.#ports.options,
      sequencerEffects(queue, this.#ports, this.#settlement, (woken) => this.wake(woken)),
    );
  }

  onDeliveryTimeout(batch: ProducerBatch, nowMs: number): void {
    const { queue } = batch;
    const { deliveryTimeoutMs } = this.#ports.options;
    this.#pass(() => {
      const { isTracked } = batch;
      if (!isTracked) queue.removeUnsent(batch);
      this.#settlement.end(batch, () => deliveryTimeoutError(batch, deliveryTimeoutMs));
      if (isTracked) queue.sequencer.ended(batch, 'delivery-timeout', nowMs);
      this.#makeRoom(queue);
    });
  }

  onLinger(queue: PartitionQueue): void {
    this.#pass(() => {
      if (queue.open !== null) this.openIsDue(queue);
      // One request more is one request more, whether it carries one partition or all that wait.
      if (queue.lane !== null && queue.isLingering) this.#endLingering(queue.lane);
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
      const { isTracked, queue } = batch;
      if (!isTracked) queue.removeUnsent(batch);
      this.#settlement.end(batch, () => error);
      if (isTracked) queue.sequencer.ended(batch, 'refused', this.#now());
      this.#makeRoom(queue);
    });
  }

  /** Fails every batch of a topic that can't be used; numbered ones are resolved as after any refusal. */
  failTopic(queues: Iterable<PartitionQueue>, error: (batch: ProducerBatch) => DeliveryError): void {
    this.#pass(() => {
      for (const queue of queues) {
        for (const batch of queue.unsent) {
          queue.removeUnsent(batch);
          this.#settlement.end(batch, () => error(batch));
        }
        const failed = queue.sequencer.numbered.filter(({ state, attempt }) => state !== 'settled' && attempt === null);
        // All first: what ends one of them may give the others new numbers, and with them a place among the unsent ones.
        for (const batch of failed) this.#settlement.end(batch, () => error(batch));
        // From the newest back: so those that never left give back their numbers.
        for (const batch of failed.reverse()) {
          if (batch.isTracked) queue.sequencer.ended(batch, 'refused', this.#now());
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
      for (const batch of [...queue.sequencer.numbered, ...queue.unsent]) {
        batch.isTracked = false;
        if (batch.state === 'settled') this.#settlement.releaseIfDone(batch);
        else this.#settlement.end(batch, () => error(batch));
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
