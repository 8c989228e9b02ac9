import { type DecodedRecord, decodeRecords } from '@sendonce/producer-core/record-batch';
import { SendonceError } from '@sendonce/producer-core/transport';
import type { Codecs } from './codecs.ts';
import type { ConsumerGroup, GroupMember } from './consumer-group.ts';
import type { RecordEvent } from './events.ts';
import type { LogBatch } from './log-batch.ts';
import { arrayOf, type FieldReader, fail, oneOf, readOptions, text } from './option-reader.ts';
import { isTopicName } from './options.ts';
import type { Partition } from './partition.ts';
import type { PartitionName } from './requests.ts';

/** A consumed record, with its place. Key and value are views of the stored bytes: not to be changed. */
export interface ConsumedRecord extends DecodedRecord {
  readonly topic: string;
  readonly partition: number;
}

export interface ConsumerOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  /** Where to begin in a partition of which the group committed nothing. Default `earliest`. */
  readonly from?: 'earliest' | 'latest';
}

const topicName: FieldReader<string> = (given, field) =>
  isTopicName(given) ? given : fail(field, 'a topic name', given);

export function readConsumerOptions(options: ConsumerOptions): Required<ConsumerOptions> {
  return readOptions<Required<ConsumerOptions>>('consumer', options, {
    groupId: text,
    topics: (given, field) => [...new Set(arrayOf('topic names', topicName, { min: 1 })(given, field))],
    from: oneOf(['earliest', 'latest'], 'earliest'),
  });
}

/** `CONSUMER_CLOSED`: it was closed, or it crashed. `CONSUMER_REBALANCED`: records would be committed that another member has now. */
export class ConsumerError extends SendonceError {
  override readonly name = 'ConsumerError';
}

/** What a consumer needs of its cluster. */
export interface ConsumerSurroundings {
  readonly group: ConsumerGroup;
  readonly partition: (name: PartitionName) => Partition | undefined;
  readonly codecs: Codecs;
  readonly record: RecordEvent;
}

/** A partition that this member has, and how far it read. */
interface Assigned {
  readonly name: PartitionName;
  /** Offset of the next record to fetch. */
  position: number;
  /** Offset after the last record that was handed out; null when none was since the last commit. */
  uncommitted: number | null;
  readonly stopWatching: () => void;
}

interface Fetched {
  readonly from: Assigned;
  readonly records: readonly DecodedRecord[];
  next: number;
}

/**
 * A member of a consumer group. Iterate it for records, below the high watermark only, in order within each partition;
 * `commit()` says that everything handed out so far is done. What was not committed is delivered again, to whoever has the
 * partition then. One iteration at a time; leaving the loop does not leave the group.
 */
export class MemoryConsumer implements AsyncIterable<ConsumedRecord>, AsyncDisposable {
  readonly memberId: string;
  readonly #member: GroupMember;
  readonly #from: 'earliest' | 'latest';
  readonly #surroundings: ConsumerSurroundings;
  #assigned: Assigned[] = [];
  #fetched: Fetched | null = null;
  /** Partitions taken away while records of them were handed out and not committed. */
  #lost: PartitionName[] = [];
  #isClosed = false;
  #wake: () => void = () => {};

  /** @internal Use `cluster.consumer()`. */
  constructor({ topics, from }: Required<ConsumerOptions>, surroundings: ConsumerSurroundings) {
    this.#from = from;
    this.#surroundings = surroundings;
    this.memberId = surroundings.group.nextMemberId();
    this.#member = { memberId: this.memberId, topics, assign: (partitions) => this.#assign(partitions) };
    surroundings.group.join(this.#member);
  }

  /** The partitions that this member has now. */
  get assignment(): readonly PartitionName[] {
    return this.#assigned.map(({ name }) => name);
  }

  /**
   * Commits everything handed out so far.
   * @throws {ConsumerError} `CONSUMER_REBALANCED` when some of it belongs to partitions that another member has now: that one
   * gets the records again. What could be committed was. `CONSUMER_CLOSED` when this member is closed.
   */
  async commit(): Promise<void> {
    if (this.#isClosed) throw new ConsumerError('The consumer is closed.', { code: 'CONSUMER_CLOSED' });
    for (const assigned of this.#assigned) {
      if (assigned.uncommitted !== null) this.#surroundings.group.commit(assigned.name, assigned.uncommitted);
      assigned.uncommitted = null;
    }
    const lost = this.#lost;
    this.#lost = [];
    if (lost.length === 0) return;
    const names = lost.map(({ topic, partition }) => `${topic}-${partition}`).join(', ');
    throw new ConsumerError(
      `Records of ${names} were not committed: the group was rebalanced, and its new owner gets them again.`,
      { code: 'CONSUMER_REBALANCED', retriable: false },
    );
  }

  /** Leaves the group without committing. A loop that waits for records ends. May be called twice. */
  async close(): Promise<void> {
    this.#leave();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The process dies: nothing more is handed out or committed, and the group gives its partitions to others. */
  crash(): void {
    this.#leave();
  }

  [Symbol.asyncIterator](): AsyncIterator<ConsumedRecord, undefined, undefined> {
    return {
      next: () => this.#next(),
      return: async () => ({ done: true, value: undefined }),
    };
  }

  /** What it has and keeps is read on from where it is. */
  #assign(partitions: readonly PartitionName[]): void {
    const { group } = this.#surroundings;
    const kept = this.#assigned.filter(({ name }) => partitions.some((each) => isSame(each, name)));
    for (const gone of this.#assigned.filter((assigned) => !kept.includes(assigned))) {
      gone.stopWatching();
      if (gone.uncommitted !== null) this.#lost.push(gone.name);
      if (this.#fetched?.from === gone) this.#fetched = null;
    }
    const added = partitions.filter((name) => !kept.some((assigned) => isSame(assigned.name, name)));
    this.#assigned = [
      ...kept,
      ...added.map((name) => ({
        name,
        position: group.committed(name) ?? this.#startOf(name),
        uncommitted: null,
        stopWatching: this.#surroundings.partition(name)?.watch(() => this.#wake()) ?? (() => {}),
      })),
    ];
    this.#wake();
  }

  async #next(): Promise<IteratorResult<ConsumedRecord, undefined>> {
    for (;;) {
      if (this.#isClosed) return { done: true, value: undefined };
      const record = this.#takeFetched();
      if (record !== null) return { done: false, value: record };
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (!this.#fetch()) await woken;
    }
  }

  #takeFetched(): ConsumedRecord | null {
    const fetched = this.#fetched;
    const record = fetched?.records[fetched.next];
    if (fetched === null || record === undefined) return null;
    fetched.next++;
    fetched.from.uncommitted = Number(record.offset) + 1;
    return { ...fetched.from.name, ...record };
  }

  /** Fetches one batch of one partition, the partitions taking turns. False when there is none. */
  #fetch(): boolean {
    for (const assigned of this.#assigned) {
      const batch = this.#batchFor(assigned);
      if (batch === null) continue;
      // A broker has looked into every batch before it stored it: the codec is loaded.
      const records = decodeRecords(batch.bytes, batch.header, { codecs: this.#surroundings.codecs.loaded });
      const { position } = assigned;
      assigned.position = batch.nextOffset;
      this.#assigned = [...this.#assigned.filter((other) => other !== assigned), assigned];
      this.#fetched = { from: assigned, records: records.filter(({ offset }) => offset >= position), next: 0 };
      return true;
    }
    return false;
  }

  #batchFor(assigned: Assigned): LogBatch | null {
    const replica = this.#surroundings.partition(assigned.name)?.leader?.replica;
    if (replica === undefined) return null;
    const { logStartOffset, logEndOffset } = replica.log;
    if (assigned.position < logStartOffset) this.#reset(assigned, logStartOffset);
    if (assigned.position > logEndOffset) this.#reset(assigned, logEndOffset);
    if (assigned.position >= replica.highWatermark) return null;
    const [batch] = replica.log.batchesFrom(assigned.position);
    return batch ?? null;
  }

  /** The log does not have what would come next: retention removed it, or an unclean election did. */
  #reset(assigned: Assigned, toOffset: number): void {
    const { group, record } = this.#surroundings;
    const fromOffset = assigned.position;
    assigned.position = toOffset;
    record({ type: 'consumer-position-reset', groupId: group.groupId, ...assigned.name, fromOffset, toOffset });
  }

  #startOf(name: PartitionName): number {
    const replica = this.#surroundings.partition(name)?.shown.replica;
    if (replica === undefined) return 0;
    return this.#from === 'earliest' ? replica.log.logStartOffset : replica.highWatermark;
  }

  #leave(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const { stopWatching } of this.#assigned) stopWatching();
    this.#assigned = [];
    this.#fetched = null;
    this.#surroundings.group.leave(this.#member);
    this.#wake();
  }
}

function isSame(one: PartitionName, other: PartitionName): boolean {
  return one.topic === other.topic && one.partition === other.partition;
}
