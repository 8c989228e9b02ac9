import type { RecordBatchHeader } from '@sendonce/producer-core/record-batch';
import { type Acks, type PartitionResult, protocolErrorCodes, type Runtime } from '@sendonce/producer-core/transport';
import { type DelayRange, drawDelayMs } from './delay-line.ts';
import type { EventLog } from './events.ts';
import { type AppendOutcome, appendAsLeader, type LeaderAppendOptions } from './leader-append.ts';
import { elect, type Leadership, noLeader } from './leadership.ts';
import type { RetentionLimits } from './partition-log.ts';
import type { AckEnd, PartitionMember } from './partition-member.ts';
import { copyFromLeader, truncateToLeader } from './replication.ts';

export interface PartitionOptions
  extends Pick<LeaderAppendOptions, 'rules' | 'timestampType' | 'maxMessageBytes' | 'decompress'>,
    RetentionLimits {
  readonly topic: string;
  readonly index: number;
  readonly minInsyncReplicas: number;
  readonly replicationDelay: DelayRange;
  /** How long a broker takes to hear of a new leader. */
  readonly metadataDelay: DelayRange;
  readonly runtime: Runtime;
  readonly events: EventLog;
  /** Whether the controller counts the broker as up. */
  readonly isAvailable: (brokerId: number) => boolean;
}

/** Answers one partition of a produce request. Called once, at once or later; never when the broker died. */
export type ProduceDone = (result: PartitionResult) => void;

const { NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND, REQUEST_TIMED_OUT } =
  protocolErrorCodes;

/** A partition: its members, who leads them, and how records get from the leader to the others (M6). */
export class Partition {
  readonly topic: string;
  readonly index: number;
  readonly members: readonly PartitionMember[];
  readonly #options: PartitionOptions;
  readonly #where: { readonly topic: string; readonly partition: number };
  readonly #watchers = new Set<() => void>();
  #leadership: Leadership;

  constructor(members: readonly PartitionMember[], leadership: Leadership, options: PartitionOptions) {
    this.topic = options.topic;
    this.index = options.index;
    this.members = members;
    this.#where = { topic: options.topic, partition: options.index };
    this.#leadership = leadership;
    this.#options = options;
  }

  /** What the controller decided. Brokers may not have heard of it yet. */
  get leadership(): Leadership {
    return this.#leadership;
  }

  get assigned(): number[] {
    return this.members.map((member) => member.brokerId);
  }

  member(brokerId: number): PartitionMember | undefined {
    return this.members.find((member) => member.brokerId === brokerId);
  }

  /** The member that leads, while it is running and knows. */
  get leader(): PartitionMember | undefined {
    const leader = this.member(this.#leadership.leader);
    return leader?.process.isRunning && leader.believesItLeads ? leader : undefined;
  }

  /** The member whose log stands for the partition's: the leader, or without one the longest. */
  get shown(): PartitionMember {
    const leader = this.member(this.#leadership.leader);
    if (leader !== undefined) return leader;
    return this.members.reduce((longest, member) =>
      member.replica.log.logEndOffset > longest.replica.log.logEndOffset ? member : longest,
    );
  }

  /** Calls `watcher` whenever more can be read, or somebody else leads. Returns how to stop. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  // ---- the leader's part of a produce request

  produce(brokerId: number, sent: Uint8Array, acks: Acks, timeoutMs: number, done: ProduceDone): void {
    const member = this.member(brokerId);
    if (member === undefined || !member.believesItLeads) {
      done(this.#notLeader(member));
      return;
    }
    const { minInsyncReplicas } = this.#options;
    if (acks === 'all' && member.view.isr.length < minInsyncReplicas) {
      done(
        this.#refused(member, NOT_ENOUGH_REPLICAS, `${member.view.isr.length} in sync, ${minInsyncReplicas} needed`),
      );
      return;
    }
    const nowMs = this.#options.runtime.wallClockMs();
    const place = { leaderEpoch: member.view.leaderEpoch, nowMs };
    const outcome = appendAsLeader(member.replica, sent, place, this.#options);
    this.#report(member, outcome);
    if (outcome.kind === 'refused') {
      done(this.#refused(member, outcome.errorCode, outcome.reason));
      return;
    }
    const { baseOffset, lastOffset } = outcome.kind === 'stored' ? outcome.batch : outcome;
    if (outcome.kind === 'stored') {
      this.#replicate(member);
      if (outcome.rolled) this.enforceRetention();
    }
    const appendedMs = outcome.kind === 'stored' ? nowMs : outcome.timestampMs;
    const answer = (errorCode: number): void => done(this.#stored(member, errorCode, baseOffset, appendedMs));
    if (acks === 'all')
      member.awaitReplication(lastOffset + 1, timeoutMs, (end) => answer(this.#ackError(member, end)));
    else answer(protocolErrorCodes.NONE);
  }

  // ---- replication

  #replicate(leader: PartitionMember): void {
    for (const follower of this.members) this.#fetchFrom(leader, follower);
    this.#advanceHighWatermark(leader);
  }

  #fetchFrom(leader: PartitionMember, follower: PartitionMember): void {
    if (!follower.follows(leader) || follower.isFetching) return;
    this.#truncate(leader, follower);
    const { replicationDelay, runtime } = this.#options;
    const delayMs = drawDelayMs(replicationDelay, runtime);
    if (delayMs <= 0) {
      this.#copy(leader, follower);
      return;
    }
    follower.isFetching = true;
    runtime.schedule(delayMs, () => {
      follower.isFetching = false;
      // Another may lead by now. Its fetch was not begun because this one was under way.
      const current = this.members.find((member) => follower.follows(member));
      if (current === undefined) return;
      this.#copy(current, follower);
      this.#advanceHighWatermark(current);
    });
  }

  #copy(leader: PartitionMember, follower: PartitionMember): void {
    copyFromLeader(follower, leader);
    leader.noteFollowerEnd(follower.brokerId, follower.replica.log.logEndOffset);
    this.#expandIsr(leader, follower);
  }

  /** A follower that has just copied has everything. */
  #expandIsr(leader: PartitionMember, follower: PartitionMember): void {
    const { brokerId } = follower;
    const isCurrent = leader.view.leaderEpoch === this.#leadership.leaderEpoch;
    if (!isCurrent || this.#leadership.isr.includes(brokerId) || !this.#options.isAvailable(brokerId)) return;
    const isr = this.assigned.filter((id) => id === brokerId || this.#leadership.isr.includes(id));
    this.#leadership = { ...this.#leadership, isr };
    leader.view = this.#leadership;
    this.#options.events.record({ type: 'isr-expanded', ...this.#where, brokerId, isr });
  }

  /** Everything that each in-sync replica has is committed: it can be read, and acks=all answers. */
  #advanceHighWatermark(leader: PartitionMember): void {
    let committed = leader.replica.log.logEndOffset;
    for (const brokerId of leader.view.isr) {
      if (brokerId !== leader.brokerId) committed = Math.min(committed, leader.followerEnd(brokerId));
    }
    if (committed <= leader.replica.highWatermark) return;
    leader.replica.highWatermark = committed;
    for (const follower of this.members) {
      if (!follower.follows(leader)) continue;
      const { replica } = follower;
      replica.highWatermark = Math.min(replica.log.logEndOffset, committed);
    }
    this.#notifyWatchers();
    leader.settleReplicated();
  }

  // ---- changes of leadership

  /** The controller's decision. Each running broker hears of it after its delay. */
  decide(next: Leadership): void {
    const before = this.#leadership;
    if (next === before) return;
    this.#leadership = next;
    const removed = before.isr.filter((brokerId) => !next.isr.includes(brokerId));
    for (const brokerId of removed)
      this.#options.events.record({ type: 'isr-shrunk', ...this.#where, brokerId, isr: next.isr });
    if (next.leaderEpoch === before.leaderEpoch) {
      const leader = this.member(next.leader);
      if (leader?.process.isRunning) this.learn(leader);
      return;
    }
    if (this.member(next.leader) === undefined)
      this.#options.events.record({ type: 'partition-offline', ...this.#where });
    else
      this.#options.events.record({
        type: 'leader-elected',
        ...this.#where,
        leader: next.leader,
        leaderEpoch: next.leaderEpoch,
      });
    for (const member of this.members) this.inform(member);
  }

  /** Tells a member what was decided, once its delay is over. */
  inform(member: PartitionMember): void {
    const { metadataDelay, runtime } = this.#options;
    const delayMs = drawDelayMs(metadataDelay, runtime);
    if (delayMs <= 0) this.learn(member);
    else runtime.schedule(delayMs, () => this.learn(member));
  }

  /** A running member takes note of the latest decision, and does its part. */
  learn(member: PartitionMember): void {
    if (!member.process.isRunning) return;
    member.view = this.#leadership;
    if (member.believesItLeads) {
      for (const follower of this.members) this.#follow(follower, member);
      this.#advanceHighWatermark(member);
      this.#notifyWatchers();
      return;
    }
    member.loseLeadership();
    const leader = this.leader;
    if (leader === undefined) return;
    this.#follow(member, leader);
    this.#advanceHighWatermark(leader);
  }

  #follow(follower: PartitionMember, leader: PartitionMember): void {
    if (!follower.follows(leader)) return;
    this.#truncate(leader, follower);
    this.#fetchFrom(leader, follower);
  }

  // Not only when one of them hears of the other: the leader may have been frozen then, and be back before it is told anything.
  #truncate(leader: PartitionMember, follower: PartitionMember): void {
    if (follower.truncatedInEpoch === leader.view.leaderEpoch) return;
    follower.truncatedInEpoch = leader.view.leaderEpoch;
    const recordsRemoved = truncateToLeader(follower, leader);
    if (recordsRemoved > 0) {
      const toOffset = follower.replica.log.logEndOffset;
      this.#options.events.record({
        type: 'log-truncated',
        ...this.#where,
        brokerId: follower.brokerId,
        toOffset,
        recordsRemoved,
      });
    }
  }

  /** Records that acks=all promised to keep, and that this member does not have: what it would lose as the leader. */
  committedRecordsMissingFrom(member: PartitionMember): number {
    const [best] = [...this.members].sort((one, other) => other.replica.highWatermark - one.replica.highWatermark);
    const { log, highWatermark } = best!.replica;
    const kept = new Set(member.replica.log.batches());
    let missing = 0;
    for (const batch of log.batches()) {
      if (batch.lastOffset < highWatermark && !kept.has(batch)) missing += batch.header.recordCount;
    }
    return missing;
  }

  /** The topic was deleted: from now on nothing is stored, copied or acknowledged. A frozen broker can't answer who waits for it. */
  end(): void {
    this.#leadership = elect(this.#leadership, noLeader);
    for (const member of this.members) {
      member.view = this.#leadership;
      if (member.process.isRunning) member.loseLeadership();
    }
  }

  // ---- records that go

  /** Moves the log start on every running replica; at most to the high watermark. */
  deleteRecordsBefore(offset: number): void {
    const leader = this.leader;
    if (leader === undefined) return;
    const upTo = Math.min(offset, leader.replica.highWatermark);
    if (upTo <= leader.replica.log.logStartOffset) return;
    for (const member of this.members) {
      if (member === leader || member.follows(leader)) member.replica.deleteBefore(upTo);
    }
    this.#options.events.record({ type: 'records-deleted', ...this.#where, logStartOffset: upTo });
  }

  enforceRetention(): void {
    const replica = this.leader?.replica;
    if (replica === undefined) return;
    const nowMs = this.#options.runtime.wallClockMs();
    this.deleteRecordsBefore(replica.log.retainedFrom(this.#options, nowMs, replica.highWatermark));
  }

  // ---- answers

  #ackError(leader: PartitionMember, end: AckEnd): number {
    if (end === 'timed-out') return REQUEST_TIMED_OUT;
    if (end === 'not-leader') return NOT_LEADER_OR_FOLLOWER;
    const enough = leader.view.isr.length >= this.#options.minInsyncReplicas;
    return enough ? protocolErrorCodes.NONE : NOT_ENOUGH_REPLICAS_AFTER_APPEND;
  }

  #stored(member: PartitionMember, errorCode: number, baseOffset: number, appendedMs: number): PartitionResult {
    if (errorCode !== protocolErrorCodes.NONE) {
      return errorCode === NOT_LEADER_OR_FOLLOWER
        ? this.#notLeader(member)
        : this.#refused(member, errorCode, 'stored by the leader, but not replicated as it should be');
    }
    return {
      topic: this.topic,
      partition: this.index,
      errorCode,
      baseOffset: BigInt(baseOffset),
      logAppendTimeMs: this.#options.timestampType === 'LogAppendTime' ? appendedMs : -1,
      logStartOffset: BigInt(member.replica.log.logStartOffset),
    };
  }

  #notLeader(member: PartitionMember | undefined): PartitionResult {
    const { leader, leaderEpoch } = member?.view ?? this.#leadership;
    const result = this.#refused(member, NOT_LEADER_OR_FOLLOWER, 'this broker does not lead the partition');
    return leader < 0 ? result : { ...result, currentLeader: { brokerId: leader, leaderEpoch } };
  }

  #refused(member: PartitionMember | undefined, errorCode: number, errorMessage: string): PartitionResult {
    return {
      topic: this.topic,
      partition: this.index,
      errorCode,
      errorMessage,
      baseOffset: -1n,
      logAppendTimeMs: -1,
      logStartOffset: member === undefined ? -1n : BigInt(member.replica.log.logStartOffset),
    };
  }

  #report({ brokerId }: PartitionMember, outcome: AppendOutcome): void {
    const { events } = this.#options;
    if (outcome.kind === 'stored' && !events.hasListeners) {
      events.count('batch-stored');
      return;
    }
    const where = { ...this.#where, brokerId };
    if (outcome.kind === 'refused') {
      const { header, errorCode, reason, expectedSequence } = outcome;
      if (header === null) events.record({ type: 'batch-damaged', ...where, errorCode, reason });
      else
        events.record({ type: 'batch-refused', ...where, ...numbersOf(header), errorCode, reason, expectedSequence });
      return;
    }
    const numbers = numbersOf(outcome.header);
    if (outcome.kind === 'recognised') {
      events.record({ type: 'batch-recognised', ...where, ...numbers, baseOffset: outcome.baseOffset });
    } else {
      events.tell({ type: 'batch-stored', ...where, ...numbers, baseOffset: outcome.batch.baseOffset });
    }
  }

  #notifyWatchers(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

function numbersOf({ producerId, producerEpoch, baseSequence, recordCount }: RecordBatchHeader) {
  return { producerId, producerEpoch, baseSequence, recordCount };
}
