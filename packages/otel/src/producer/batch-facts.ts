import type { AttemptInfo, AttemptOutcome, BatchInfo } from '@sendonce/producer-core';
import type { AcknowledgedPositions } from './acknowledged-positions.ts';
import type { BatchTrace } from './batch-trace.ts';
import type { RecordTrace } from './record-trace.ts';
import { type RetryClass, retryClassOf } from './retry-class.ts';

/** `confirmed`: the broker recognised a repeat. `possible`: it may have; nobody can tell. */
export type DuplicateCertainty = 'none' | 'possible' | 'confirmed';

/** Why a duplicate is called confirmed or possible. */
export type DuplicateEvidence =
  /** The broker answered DUPLICATE_SEQUENCE_NUMBER. */
  | 'duplicate-answer'
  /** The same leader had stored it when too few replicas did. */
  | 'after-append'
  /** Its offset lies before that of a batch with later numbers, so it was stored before that one. */
  | 'earlier-offset'
  /** Stored by a retry after an attempt that may have been stored. */
  | 'retry-after-ambiguous';

/** What became of one batch so far: the source of its spans and of what is counted about it. */
export class BatchFacts {
  readonly batch: BatchInfo;
  /** Attempts that ended, those that never left included. */
  attempts = 0;
  /** In the order in which they first came up. */
  readonly retryClasses: RetryClass[];
  lastClass: RetryClass | null = null;
  lastErrorType: string | null = null;
  lastEndedAtMs: number | null = null;
  duplicate: DuplicateCertainty = 'none';
  evidence: DuplicateEvidence | null = null;
  /** From its first record to its first attempt; `null` before that. */
  queueMs: number | null = null;
  trace: BatchTrace | null = null;
  /** Its records that are traced, until its span is started. */
  members: RecordTrace[] = [];
  /** What it is a part of, when that was split. */
  readonly whole: BatchFacts | null;
  /** Whether its sizes and times are measured. */
  isMeasured = false;
  attemptsOut = 0;
  isSettled = false;
  #drains = 0;
  #mayBeStored = false;
  #appendedBy: number | null = null;

  constructor(batch: BatchInfo, whole: BatchFacts | null) {
    this.batch = batch;
    this.whole = whole;
    this.attempts = whole?.attempts ?? 0;
    this.retryClasses = [...(whole?.retryClasses ?? [])];
    this.lastClass = whole?.lastClass ?? null;
    this.lastErrorType = whole?.lastErrorType ?? null;
    this.lastEndedAtMs = whole?.lastEndedAtMs ?? null;
    this.queueMs = whole?.queueMs ?? null;
  }

  /** It is about to leave with numbers: its first, or new ones after a bump. */
  drained(): void {
    this.#drains++;
    // Rule C9: it gets new ones only when none of what was sent under the old ones is stored.
    this.#mayBeStored = false;
    this.#appendedBy = null;
  }

  /** How often it got new numbers. */
  get epochBumps(): number {
    return Math.max(0, this.#drains - 1);
  }

  /** Nothing more will be heard of it. */
  get isOver(): boolean {
    return this.isSettled && this.attemptsOut === 0;
  }

  get retried(): boolean {
    return this.attempts > 1;
  }

  attemptEnded({ brokerId }: AttemptInfo, outcome: AttemptOutcome, positions: AcknowledgedPositions): void {
    this.attempts++;
    this.lastEndedAtMs = outcome.endedAtMs;
    if (outcome.effect === 'stored') {
      this.#stored(brokerId, outcome, positions);
      return;
    }
    this.lastClass = retryClassOf(outcome);
    if (!this.retryClasses.includes(this.lastClass)) this.retryClasses.push(this.lastClass);
    this.lastErrorType = outcome.errorName;
    if (outcome.effect === 'maybe') this.#mayBeStored = true;
    if (outcome.errorName === 'NOT_ENOUGH_REPLICAS_AFTER_APPEND') this.#appendedBy = brokerId;
  }

  #stored(brokerId: number, { action, baseOffset }: AttemptOutcome, positions: AcknowledgedPositions): void {
    const isBehind = action === 'stored' && positions.isBehind(this.batch, baseOffset);
    if (action === 'stored') positions.note(this.batch, baseOffset);
    if (action === 'duplicate') this.#recognised('confirmed', 'duplicate-answer');
    else if (this.#appendedBy === brokerId) this.#recognised('confirmed', 'after-append');
    else if (this.#mayBeStored) {
      if (isBehind) this.#recognised('confirmed', 'earlier-offset');
      else this.#recognised('possible', 'retry-after-ambiguous');
    }
  }

  #recognised(certainty: DuplicateCertainty, evidence: DuplicateEvidence): void {
    this.duplicate = certainty;
    this.evidence = evidence;
  }
}
