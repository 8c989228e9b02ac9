import type { Runtime, TimerHandle } from '@sendonce/producer-core/transport';
import { type Leadership, noLeader } from './leadership.ts';
import type { Replica } from './replica.ts';

/** The process that a replica lives in. */
export interface BrokerProcess {
  readonly brokerId: number;
  /** Neither killed nor frozen. */
  readonly isRunning: boolean;
}

/** A produce request that waits until the in-sync replicas have its batch. */
interface AckWaiter {
  readonly requiredOffset: number;
  readonly settle: (end: AckEnd) => void;
  readonly timer: TimerHandle;
}

export type AckEnd = 'replicated' | 'timed-out' | 'not-leader';

const nothingHeard: Leadership = { leader: noLeader, leaderEpoch: -1, isr: [] };

/**
 * One broker's part in a partition: its replica, who it believes is the leader, and, while that is itself, who waits for an
 * answer. A frozen or cut-off broker believes what it last heard.
 */
export class PartitionMember {
  readonly process: BrokerProcess;
  readonly replica: Replica;
  view: Leadership = nothingHeard;
  /** Whether a fetch from the leader is under way. */
  isFetching = false;
  /** The leader epoch for which its log was cut to the leader's: before that nothing may be copied. */
  truncatedInEpoch = -1;
  readonly #runtime: Runtime;
  readonly #followerEnds = new Map<number, number>();
  #followerEndsEpoch = -1;
  #waiters: AckWaiter[] = [];

  constructor(process: BrokerProcess, replica: Replica, runtime: Runtime) {
    this.process = process;
    this.replica = replica;
    this.#runtime = runtime;
  }

  get brokerId(): number {
    return this.process.brokerId;
  }

  get believesItLeads(): boolean {
    return this.view.leader === this.brokerId;
  }

  /** Whether this one, as a follower, copies from `leader` now. */
  follows(leader: PartitionMember): boolean {
    return (
      this !== leader &&
      this.process.isRunning &&
      leader.process.isRunning &&
      leader.believesItLeads &&
      this.view.leader === leader.brokerId &&
      this.view.leaderEpoch === leader.view.leaderEpoch
    );
  }

  /** Notes how far a follower got, as its fetches tell the leader. */
  noteFollowerEnd(brokerId: number, logEndOffset: number): void {
    if (this.#followerEndsEpoch !== this.view.leaderEpoch) {
      this.#followerEnds.clear();
      this.#followerEndsEpoch = this.view.leaderEpoch;
    }
    this.#followerEnds.set(brokerId, logEndOffset);
  }

  /**
   * How far a follower is known to be in this leader's epoch. Its log can't be looked at instead: behind the back of a leader
   * that was deposed without hearing of it, the others' logs grow with other records.
   */
  followerEnd(brokerId: number): number {
    const isKnown = this.#followerEndsEpoch === this.view.leaderEpoch;
    return (isKnown ? this.#followerEnds.get(brokerId) : undefined) ?? Number.NEGATIVE_INFINITY;
  }

  /** Calls `settle` once everything before `requiredOffset` is replicated, the time is over, or leadership is lost. */
  awaitReplication(requiredOffset: number, timeoutMs: number, settle: (end: AckEnd) => void): void {
    if (this.replica.highWatermark >= requiredOffset) {
      settle('replicated');
      return;
    }
    const waiter: AckWaiter = {
      requiredOffset,
      settle,
      timer: this.#runtime.schedule(timeoutMs, () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        settle('timed-out');
      }),
    };
    this.#waiters.push(waiter);
  }

  settleReplicated(): void {
    if (this.#waiters.length === 0) return;
    const { highWatermark } = this.replica;
    this.#settle('replicated', (waiter) => waiter.requiredOffset <= highWatermark);
  }

  loseLeadership(): void {
    this.#settle('not-leader', () => true);
  }

  /** The process died: nobody is answered, and the next one has to hear again who leads. */
  die(): void {
    for (const { timer } of this.#waiters) this.#runtime.cancel(timer);
    this.#waiters = [];
    this.view = nothingHeard;
    this.truncatedInEpoch = -1;
  }

  #settle(end: AckEnd, applies: (waiter: AckWaiter) => boolean): void {
    const settled = this.#waiters.filter(applies);
    if (settled.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !applies(waiter));
    for (const { timer, settle } of settled) {
      this.#runtime.cancel(timer);
      settle(end);
    }
  }
}
