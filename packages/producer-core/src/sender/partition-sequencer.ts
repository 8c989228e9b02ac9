import type { ProducerBatch } from '../accumulator/batch.ts';
import { isSequenceAfter, sequenceAfter } from '../record-batch/sequence.ts';
import type { ProducerIdentity } from '../transport/transport.ts';
import type { Attempt } from './attempt.ts';
import type { BrokerLane } from './broker-lane.ts';
import { type ResolutionTrigger, resolutionStep } from './resolution.ts';

/** Rule C5: what the broker remembers of a producer, and so what may lie between the oldest unsettled batch and the newest. */
const maxSpan = 5;
/** Rule C10. */
export const lastEpoch = 32_767;

/**
 * - `flowing`: batches leave and come back.
 * - `resolving`: rule C9 finds out what is stored before anything gets new numbers.
 * - `awaitingIdentity`: epochs are used up; nothing leaves until there is a new producer id (C10).
 */
export type SequencerState = 'flowing' | 'resolving' | 'awaitingIdentity';

const transitions: Readonly<Record<SequencerState, readonly SequencerState[]>> = {
  flowing: ['resolving'],
  resolving: ['flowing', 'awaitingIdentity'],
  awaitingIdentity: ['flowing'],
};

/** Why a partition took its next epoch, and what was known then. */
export interface BumpReport {
  readonly trigger: ResolutionTrigger;
  readonly fromProducerId: bigint;
  readonly fromEpoch: number;
  /** Batches that start again at sequence 0. */
  readonly renumbered: number;
  /** The broker is behind what it acknowledged (C11). */
  readonly dataLossSuspected: boolean;
}

/** What the sequencer asks of the sender. */
export interface SequencerEffects {
  /** Tells a batch's callers that it is stored; -1n when no answer said where. */
  acknowledge(batch: ProducerBatch, baseOffset: bigint): void;
  /** Gives back batches that are certainly not stored: they go before the unsent ones, in this order, without numbers. */
  requeue(batches: readonly ProducerBatch[]): void;
  /** A settled batch that nothing will be asked about any more. */
  forgotten(batch: ProducerBatch): void;
  /** Calls `resume` at the given time. */
  resumeAt(atMs: number): void;
  bumped(report: BumpReport): void;
  /** An offset lies before one that was acknowledged earlier: the log was cut. */
  logWentBack(): void;
  resolutionStarted(trigger: ResolutionTrigger): void;
  /** Epochs are used up: `takeIdentity` is to be called with a new one. */
  requestIdentity(): void;
}

export interface SequencerLimits {
  readonly idempotence: boolean;
  readonly maxInFlight: number;
}

/**
 * A partition's numbers: which batch carries which, which may be sent now, and what to do when it is not clear whether one is
 * stored (rules C2 to C7, C9, C10). Knows no transport and no clock; each call brings the time.
 */
export class PartitionSequencer {
  state: SequencerState = 'flowing';
  producerId: bigint;
  epoch: number;
  nextSequence = 0;
  /**
   * In sequence order, from the oldest batch whose fate matters to the newest numbered one. Some in between may be settled:
   * acknowledged early, or failed with a fate that is still open.
   */
  readonly numbered: ProducerBatch[] = [];
  /** Attempts that are out. */
  outstanding = 0;

  readonly #effects: SequencerEffects;
  readonly #limits: SequencerLimits;
  #gateLane: BrokerLane | null = null;
  #gateConnection = -1;
  /**
   * A broker forgets a producer that is idle, and then takes any sequence from it: it may refuse the first of two batches in
   * flight and store the second. So the gate closes long before the broker can have forgotten.
   */
  #rememberedUntilMs = Number.NEGATIVE_INFINITY;
  /** Whether the broker acknowledged anything under this producer id and epoch. */
  #acknowledgedInEpoch = false;
  /** The topic was made again in this epoch: its gaps have that reason, and it was told. */
  #recreatedInEpoch = false;
  #lastAcknowledgedOffset = -1n;
  /** The last sequence of the batch at that offset; -1 when it was of another epoch. */
  #lastAcknowledgedSequence = -1;

  #trigger: ResolutionTrigger = 'delivery-timeout';
  #round = 0;
  #roundStartedAtMs = 0;
  /** The next question is a round's first one. */
  #roundBegins = false;
  #asking: ProducerBatch | null = null;
  #logStartOffset = -1n;
  /** Not every refusal of this resolution was about sequences, so they prove nothing about what the broker has. */
  #wasRefusedOtherwise = false;

  constructor(identity: ProducerIdentity, limits: SequencerLimits, effects: SequencerEffects) {
    this.producerId = identity.producerId;
    this.epoch = identity.epoch;
    this.#limits = limits;
    this.#effects = effects;
  }

  /** Whether more than one batch may be in flight to this broker, over its present connection (C7). */
  gateIsOpen(lane: BrokerLane, nowMs: number): boolean {
    if (!this.#limits.idempotence) return true;
    return this.#gateLane === lane && this.#gateConnection === lane.connection && nowMs < this.#rememberedUntilMs;
  }

  /** The numbered batch to send now; `'unsent'` when a new one may be numbered; `null` when nothing may leave. */
  next(lane: BrokerLane, nowMs: number): ProducerBatch | 'unsent' | null {
    if (this.state === 'awaitingIdentity') return null;
    if (this.state === 'resolving') return this.outstanding === 0 ? this.#asking : null;
    const gateIsOpen = this.gateIsOpen(lane, nowMs);
    if (this.outstanding >= (gateIsOpen ? this.#limits.maxInFlight : 1)) return null;
    const { numbered } = this;
    for (let index = 0; index < numbered.length; index++) {
      const batch = numbered[index]!;
      if (batch.attempt !== null || batch.state === 'settled') continue;
      // It waits to be sent again, and everything before it is out or settled (C4). Nothing later passes it (C6).
      if (index >= maxSpan) return null;
      return batch.waitsForHead && index > 0 ? null : batch;
    }
    return numbered.length < maxSpan || !this.#limits.idempotence ? 'unsent' : null;
  }

  /** C2: numbers are given when the batch leaves for the first time. The caller writes them into the header. */
  assignNumbers(batch: ProducerBatch): void {
    batch.producerId = this.producerId;
    batch.epoch = this.epoch;
    if (this.#limits.idempotence) {
      batch.baseSequence = this.nextSequence;
      this.nextSequence = sequenceAfter(this.nextSequence, batch.recordCount);
    }
    batch.isTracked = true;
    this.numbered.push(batch);
  }

  attemptStarted(batch: ProducerBatch, attempt: Attempt): void {
    batch.attempt = attempt;
    this.outstanding++;
  }

  /** Every attempt ends here, once, before its outcome is looked at. False when the batch no longer waits for it (C12). */
  attemptEnded(attempt: Attempt, left: boolean): boolean {
    const { batch } = attempt;
    if (batch.attempt !== attempt) return false;
    batch.attempt = null;
    this.outstanding--;
    if (left) {
      batch.left = true;
      batch.attempts++;
    }
    return true;
  }

  /** The broker has the batch, and remembers the producer until then: it is stored, and so is every earlier one of its epoch. */
  stored(attempt: Attempt, baseOffset: bigint, nowMs: number, rememberedUntilMs: number): void {
    const { batch } = attempt;
    const index = this.numbered.indexOf(batch);
    if (!attempt.ofFormerTopic) this.#leaderHas(attempt, index, baseOffset, rememberedUntilMs);
    batch.knownStored = true;
    if (batch.state !== 'settled') this.#effects.acknowledge(batch, baseOffset);
    for (let later = index + 1; later < this.numbered.length; later++) this.numbered[later]!.waitsForHead = false;
    this.#trim();
    this.#advance(nowMs);
  }

  /** What the answer says of the leader's log, beside that it has the batch. */
  #leaderHas({ batch, lane, connection }: Attempt, index: number, baseOffset: bigint, rememberedUntilMs: number): void {
    this.#acknowledgedInEpoch = true;
    this.#rememberedUntilMs = rememberedUntilMs;
    if (baseOffset >= 0n && this.#acknowledgeOffset(batch, baseOffset)) {
      this.#logCut(index);
      this.#effects.logWentBack();
      return;
    }
    // Of a connection that has ended, it opens nothing.
    this.#gateLane = lane;
    this.#gateConnection = connection;
    if (!this.#limits.idempotence) return;
    for (let earlier = 0; earlier < index; earlier++) {
      const before = this.numbered[earlier]!;
      // One whose attempts were all refused is not stored, whatever this leader takes.
      const mayBeStored = before.unanswered > 0 || before.attempt !== null;
      if (!before.answersForItself && mayBeStored) before.knownStored = true;
    }
  }

  /**
   * A log grows: a batch with a higher sequence has a higher offset. One that has not was stored by a leader that lost what it, or
   * another, acknowledged, and that may know nothing of this producer and take any sequence.
   */
  #acknowledgeOffset(batch: ProducerBatch, baseOffset: bigint): boolean {
    if (!this.#limits.idempotence) return false;
    const isLater =
      this.#lastAcknowledgedSequence < 0 || isSequenceAfter(batch.baseSequence, this.#lastAcknowledgedSequence);
    if (!isLater) return false;
    const wentBack = baseOffset <= this.#lastAcknowledgedOffset;
    this.#lastAcknowledgedOffset = baseOffset + BigInt(batch.recordCount - 1);
    this.#lastAcknowledgedSequence = batch.baseSequence;
    return wentBack;
  }

  /**
   * The leader's log is not the one that this producer wrote to. So it may have a batch without the ones before it: each of the
   * first `count` batches is stored only when an answer to itself says so.
   */
  #logCut(count = this.numbered.length): void {
    this.#gateLane = null;
    for (let index = 0; index < count; index++) this.numbered[index]!.answersForItself = true;
  }

  /**
   * The topic was deleted, and made again under its name: its offsets begin again, and it knows nothing of this producer. What is still
   * answered of the former one says nothing about it.
   */
  topicRecreated(): void {
    this.#lastAcknowledgedOffset = -1n;
    this.#recreatedInEpoch = true;
    this.#logCut();
    for (const batch of this.numbered) {
      batch.unansweredInFormerTopic = batch.unanswered;
      if (batch.attempt !== null) batch.attempt.ofFormerTopic = true;
    }
  }

  /** The attempt ended without an answer that settles it; the batch is sent again under the same numbers (C3). */
  retriable(batch: ProducerBatch, nowMs: number): void {
    if (batch.state === 'inFlight') batch.moveTo(this.state === 'resolving' ? 'resolving' : 'retrying');
    if (!batch.left && this.state === 'flowing') this.#takeBackNumbers();
    this.#trim();
    this.#advance(nowMs);
  }

  /** Answered out of order, or by a broker that does not know the producer. */
  outOfOrder(
    batch: ProducerBatch,
    trigger: 'out-of-order' | 'unknown-producer',
    logStartOffset: bigint,
    nowMs: number,
  ): void {
    if (batch.knownStored) {
      // It is too long ago for the broker to say where.
      if (batch.state !== 'settled') this.#effects.acknowledge(batch, -1n);
      this.#trim();
      this.#advance(nowMs);
      return;
    }
    if (this.state === 'resolving') {
      if (batch === this.#asking) {
        batch.refusedInRound = this.#round;
        batch.refusedOtherwise = false;
      }
      if (batch.state === 'inFlight') batch.moveTo('resolving');
      this.#logStartOffset = logStartOffset;
      this.#advance(nowMs);
      return;
    }
    if (batch.state === 'inFlight') batch.moveTo('retrying');
    if (this.numbered[0] === batch) {
      this.#logStartOffset = logStartOffset;
      this.resolve(trigger, nowMs);
    } else batch.waitsForHead = true;
  }

  /** Refused in a way that says nothing about earlier attempts, and is not to be repeated under these numbers. */
  refusedWhileResolving(batch: ProducerBatch, nowMs: number): void {
    batch.refusedInRound = this.#round;
    batch.refusedOtherwise = true;
    this.#wasRefusedOtherwise = true;
    if (batch.state === 'inFlight') batch.moveTo('resolving');
    this.#advance(nowMs);
  }

  /** Puts two halves, numbered within the range of the whole, in its place. */
  replace(whole: ProducerBatch, halves: readonly ProducerBatch[]): void {
    this.numbered.splice(this.numbered.indexOf(whole), 1, ...halves);
  }

  /**
   * A numbered batch's callers were told that it failed, and it may or may not be stored: its partition is resolved (C9).
   * Gives back the numbers instead when nothing of it and nothing after it ever left (C8).
   */
  ended(batch: ProducerBatch, trigger: ResolutionTrigger, nowMs: number): void {
    if (!this.#limits.idempotence) {
      this.numbered.splice(this.numbered.indexOf(batch), 1);
      this.#forget(batch);
      return;
    }
    if (batch.knownStored) {
      this.#trim();
      this.#advance(nowMs);
      return;
    }
    if (this.state === 'flowing' && !batch.left && batch.attempt === null && this.numbered.at(-1) === batch) {
      this.numbered.pop();
      this.nextSequence = batch.baseSequence;
      this.#forget(batch);
      return;
    }
    this.resolve(trigger, nowMs);
  }

  resolve(trigger: ResolutionTrigger, nowMs: number): void {
    if (this.state === 'flowing') {
      this.#moveTo('resolving');
      this.#trigger = trigger;
      this.#round = 0;
      this.#wasRefusedOtherwise = false;
      for (const batch of this.numbered) {
        batch.refusedInRound = 0;
        if (batch.state === 'retrying') batch.moveTo('resolving');
      }
      this.#effects.resolutionStarted(trigger);
    }
    this.#advance(nowMs);
  }

  /** A new leader may know more, or less: a round is asked of one leader alone. */
  leaderChanged(nowMs: number): void {
    this.#gateLane = null;
    this.connectionLost();
    this.#advance(nowMs);
  }

  /** Who answers on the next connection may not be who refused before: the round begins again. */
  connectionLost(): void {
    if (this.state !== 'resolving') return;
    this.#roundBegins = true;
    for (const batch of this.numbered) if (batch.refusedInRound === this.#round) batch.refusedInRound = 0;
  }

  /** The time asked for by `resumeAt` has come. */
  resume(nowMs: number): void {
    this.#advance(nowMs);
  }

  /** C10: the answer to `requestIdentity`. */
  takeIdentity(identity: ProducerIdentity): void {
    this.#moveTo('flowing');
    this.producerId = identity.producerId;
    this.epoch = identity.epoch;
  }

  #moveTo(next: SequencerState): void {
    if (!transitions[this.state].includes(next)) {
      throw new Error(`A partition's sequencer can't go from ${this.state} to ${next}`);
    }
    this.state = next;
  }

  /** Drops what no longer counts for the span: the oldest batches, as far as their callers know that they are stored. */
  #trim(): void {
    const { numbered } = this;
    let count = 0;
    while (count < numbered.length && numbered[count]!.state === 'settled' && numbered[count]!.knownStored) count++;
    if (count > 0) for (const batch of numbered.splice(0, count)) this.#forget(batch);
  }

  #forget(batch: ProducerBatch): void {
    batch.isTracked = false;
    this.#effects.forgotten(batch);
  }

  /** C8: batches that never left use up no number. From the newest back, since a gap may not arise. */
  #takeBackNumbers(): void {
    const { numbered } = this;
    const back: ProducerBatch[] = [];
    for (let batch = numbered.at(-1); batch !== undefined; batch = numbered.at(-1)) {
      if (batch.left || batch.attempt !== null || batch.state === 'settled') break;
      numbered.pop();
      this.nextSequence = batch.baseSequence;
      batch.forgetNumbers();
      back.unshift(batch);
    }
    if (back.length > 0) this.#effects.requeue(back);
  }

  /** Goes on with rule C9 as far as it can without an answer. */
  #advance(nowMs: number): void {
    if (this.state !== 'resolving' || this.outstanding > 0) return;
    this.#asking = null;
    for (const batch of this.numbered) {
      if (batch.knownStored && batch.state !== 'settled') this.#effects.acknowledge(batch, -1n);
    }
    this.#trim();
    const step = resolutionStep(this.numbered, this.#round, this.#roundStartedAtMs, nowMs);
    switch (step.do) {
      case 'ask':
        if (step.round !== this.#round || this.#roundBegins) {
          this.#round = step.round;
          this.#roundStartedAtMs = nowMs;
          this.#roundBegins = false;
        }
        this.#asking = step.batch;
        return;
      case 'wait':
        this.#effects.resumeAt(step.untilMs);
        return;
      case 'continue':
        this.#moveTo('flowing');
        this.#takeBackNumbers();
        return;
      case 'bump':
        this.#bump(nowMs);
    }
  }

  #bump(nowMs: number): void {
    const back = this.numbered.filter((batch) => batch.state !== 'settled');
    const ended = this.numbered.filter((batch) => batch.state === 'settled');
    const report: BumpReport = {
      trigger: this.#trigger,
      fromProducerId: this.producerId,
      fromEpoch: this.epoch,
      renumbered: back.length,
      dataLossSuspected: this.#suspectsDataLoss(nowMs),
    };
    this.numbered.length = 0;
    this.nextSequence = 0;
    this.#gateLane = null;
    this.#acknowledgedInEpoch = false;
    this.#recreatedInEpoch = false;
    this.#lastAcknowledgedSequence = -1;
    // One loss is told once: what is stored next lies before what was lost.
    if (report.dataLossSuspected) this.#lastAcknowledgedOffset = -1n;
    for (const batch of back) batch.forgetNumbers();
    for (const batch of ended) this.#forget(batch);
    if (this.epoch >= lastEpoch) {
      this.#moveTo('awaitingIdentity');
      this.#effects.requestIdentity();
    } else {
      this.#moveTo('flowing');
      this.epoch++;
    }
    this.#effects.requeue(back);
    this.#effects.bumped(report);
  }

  /** C11: all were refused and nothing unresolved lies before the oldest. */
  #suspectsDataLoss(nowMs: number): boolean {
    const oldest = this.numbered[0]!;
    // One that failed or never left is a gap of our own, and a log that was cut was told of: each explains the refusals.
    const hasGap = oldest.state === 'settled' || !oldest.left || oldest.answersForItself;
    if (!this.#acknowledgedInEpoch || this.#recreatedInEpoch || this.#wasRefusedOtherwise || hasGap) return false;
    // Deleted on purpose. A broker that restarted then may remember an older batch as the last one.
    if (this.#logStartOffset > this.#lastAcknowledgedOffset) return false;
    if (this.#trigger === 'out-of-order') return true;
    return this.#trigger === 'unknown-producer' && nowMs < this.#rememberedUntilMs;
  }
}
