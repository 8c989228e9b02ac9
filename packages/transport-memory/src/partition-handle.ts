import { ConfigError } from '@sendonce/producer-core/transport';
import type { Controller } from './controller.ts';
import { type DumpRow, dumpLog, dumpNewest } from './dump.ts';
import { type FieldReader, optional, text, wholeNumber } from './option-reader.ts';
import type { Partition } from './partition.ts';
import type { PartitionMember } from './partition-member.ts';
import type { NotebookBatch, ProducerEntry } from './producer-state.ts';

/** What a replica remembers of one producer id: the tutorial's notebook entry. A copy. */
export interface ProducerStateEntry {
  readonly producerId: bigint;
  readonly epoch: number;
  /** The last batches, oldest first; five at most. */
  readonly batches: readonly NotebookBatch[];
  /** When the last batch was stored, by the leader's clock; milliseconds since 1970. */
  readonly lastWriteMs: number;
}

/**
 * A partition, to look into and to do things to. Where a method takes a broker id it means that broker's replica; without one,
 * the leader's, or while there is none the longest.
 */
export class PartitionHandle {
  readonly #topic: string;
  readonly #index: number;
  readonly #controller: Controller;
  readonly #random: () => number;

  constructor(controller: Controller, topic: string, index: number, random: () => number) {
    this.#controller = controller;
    this.#topic = text(topic, 'topic');
    this.#index = wholeNumber(undefined)(index, 'partition');
    this.#random = random;
    this.#partition();
  }

  /** Broker id; -1 while nobody leads. */
  get leader(): number {
    return this.#partition().leadership.leader;
  }

  get leaderEpoch(): number {
    return this.#partition().leadership.leaderEpoch;
  }

  /** Broker ids of the in-sync replicas. */
  get isr(): readonly number[] {
    return this.#partition().leadership.isr;
  }

  /** Broker ids of all replicas, the preferred leader first. */
  get replicas(): readonly number[] {
    return this.#partition().assigned;
  }

  /** Everything below is replicated to each in-sync replica, and can be consumed. */
  get highWatermark(): number {
    return this.#member().replica.highWatermark;
  }

  get logStartOffset(): number {
    return this.#member().replica.log.logStartOffset;
  }

  get logEndOffset(): number {
    return this.#member().replica.log.logEndOffset;
  }

  /** Batch headers. `newest`: only so many of the last ones, for logs that grow long. */
  log(brokerId?: number, { newest }: { readonly newest?: number } = {}): DumpRow[] {
    const { log } = this.#member(brokerId).replica;
    return newest === undefined ? dumpLog(log) : dumpNewest(log, newest);
  }

  /** The stored bytes of each batch. Not to be changed: every replica has the same ones. */
  batches(brokerId?: number): Buffer[] {
    return Array.from(this.#member(brokerId).replica.log.batches(), ({ bytes }) => bytes);
  }

  producerState(brokerId?: number): ProducerStateEntry[] {
    return copyEntries(this.#member(brokerId).replica.copyState());
  }

  /** The producer state that the log alone gives (M4): what `producerState` must equal, where nothing was narrowed or deleted. */
  rebuiltProducerState(brokerId?: number): ProducerStateEntry[] {
    return copyEntries(this.#member(brokerId).replica.rebuildFromLog());
  }

  /** Offsets at which the replica keeps a snapshot of its producer state. */
  snapshots(brokerId?: number): number[] {
    return this.#member(brokerId).replica.snapshotOffsets;
  }

  /**
   * Hands leadership to an in-sync replica, as a reassignment or a rebalance does. Default: the next one that is up.
   * @throws {ConfigError} when that one is not in sync, or down.
   */
  moveLeader(brokerId?: number): void {
    this.#controller.moveLeader(this.#partition(), optional(readBrokerId)(brokerId, 'brokerId'));
  }

  /**
   * Makes a replica leader that was not in sync: by default the longest that is up. Acknowledged records may be lost; the event
   * `unclean-election` says how many.
   * @throws {ConfigError} while a leader is there, or when no other replica is up.
   */
  uncleanElection(brokerId?: number): void {
    this.#controller.uncleanElection(this.#partition(), optional(readBrokerId)(brokerId, 'brokerId'));
  }

  /**
   * Moves the log start, at most to the high watermark, as DeleteRecords does. Without a leader nothing happens.
   * @throws {ConfigError} when `offset` is no whole number from 0.
   */
  deleteRecordsBefore(offset: number): void {
    this.#partition().deleteRecordsBefore(wholeNumber(undefined)(offset, 'offset'));
  }

  /** Looks now for segments that retention lets go; otherwise that is done when a segment begins. */
  enforceRetention(): void {
    this.#partition().enforceRetention();
  }

  /** Looks now, on every replica, for producers that were idle too long (M5). Returns those that the leader forgot. */
  expireProducers(): bigint[] {
    return this.#onEach((member) => member.replica.expireProducers());
  }

  /** Every replica forgets every producer; the log stays. */
  forgetProducers(): void {
    this.#onEach((member) => member.replica.forgetProducers());
  }

  /** The snapshots are gone; the next start replays the whole log. */
  loseSnapshots(brokerId?: number): void {
    for (const member of this.#members(brokerId)) member.replica.loseSnapshots();
  }

  /** One bit of each snapshot flips; the next start must notice. */
  damageSnapshots(brokerId?: number): void {
    for (const member of this.#members(brokerId)) member.replica.damageSnapshots(this.#random);
  }

  #onEach<T>(act: (member: PartitionMember) => T): T {
    const shown = this.#member();
    for (const member of this.#partition().members) if (member !== shown) act(member);
    return act(shown);
  }

  #members(brokerId: number | undefined): readonly PartitionMember[] {
    return brokerId === undefined ? this.#partition().members : [this.#member(brokerId)];
  }

  #member(brokerId?: number): PartitionMember {
    const partition = this.#partition();
    if (brokerId === undefined) return partition.shown;
    const member = partition.member(readBrokerId(brokerId, 'brokerId'));
    if (member !== undefined) return member;
    throw new ConfigError(
      `broker ${brokerId} has no replica of ${this.#topic}-${this.#index}, only ${partition.assigned.join(', ')}`,
      ['brokerId'],
    );
  }

  /** Looked up each time: a topic that was deleted and made again has other partitions. */
  #partition(): Partition {
    const partition = this.#controller.partition(this.#topic, this.#index);
    if (partition !== undefined) return partition;
    throw new ConfigError(`there is no partition ${this.#index} of topic "${this.#topic}"`, ['topic', 'partition']);
  }
}

const readBrokerId: FieldReader<number> = (given, field) => wholeNumber(undefined, { min: 1 })(given, field);

function copyEntries(entries: Map<bigint, ProducerEntry>): ProducerStateEntry[] {
  return Array.from(entries, ([producerId, { epoch, batches, lastWriteMs }]) => ({
    producerId,
    epoch,
    batches: [...batches],
    lastWriteMs,
  }));
}
