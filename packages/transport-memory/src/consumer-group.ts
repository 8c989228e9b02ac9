import type { RecordEvent } from './events.ts';
import type { PartitionName } from './requests.ts';

/** A consumer, as its group sees it. */
export interface GroupMember {
  readonly memberId: string;
  readonly topics: readonly string[];
  /** The group was rebalanced; these are the member's partitions now. */
  assign(partitions: readonly PartitionName[]): void;
}

/**
 * A consumer group: who is in it, who has which partitions, and how far the group got. What was committed outlives members and
 * brokers. Rebalances are immediate: a member that is in the middle of a record loses its partition all the same, and the next
 * owner begins at the committed offset, so that each record is delivered at least once.
 */
export class ConsumerGroup {
  readonly groupId: string;
  readonly #partitionCount: (topic: string) => number;
  readonly #record: RecordEvent;
  readonly #committed = new Map<string, number>();
  #members: GroupMember[] = [];
  #joined = 0;
  #generation = 0;

  constructor(groupId: string, partitionCount: (topic: string) => number, record: RecordEvent) {
    this.groupId = groupId;
    this.#partitionCount = partitionCount;
    this.#record = record;
  }

  nextMemberId(): string {
    return `${this.groupId}-${++this.#joined}`;
  }

  join(member: GroupMember): void {
    this.#members = [...this.#members, member];
    this.#rebalance();
  }

  leave(member: GroupMember): void {
    this.#members = this.#members.filter((other) => other !== member);
    this.#rebalance();
  }

  /** The number of partitions of a topic changed. */
  topicChanged(topic: string): void {
    if (this.#partitionCount(topic) === 0) this.#forget(topic);
    if (this.#members.some(({ topics }) => topics.includes(topic))) this.#rebalance();
  }

  commit({ topic, partition }: PartitionName, offset: number): void {
    this.#committed.set(`${topic}/${partition}`, offset);
  }

  /** The offset of the next record to process; null when nothing was committed. */
  committed({ topic, partition }: PartitionName): number | null {
    return this.#committed.get(`${topic}/${partition}`) ?? null;
  }

  #forget(topic: string): void {
    for (const key of this.#committed.keys()) if (key.startsWith(`${topic}/`)) this.#committed.delete(key);
  }

  #rebalance(): void {
    this.#generation++;
    const members = this.#members;
    this.#record({
      type: 'group-rebalanced',
      groupId: this.groupId,
      generation: this.#generation,
      members: members.map(({ memberId }) => memberId),
    });
    const shares = assignPartitions(members, this.#partitionCount);
    // All old owners first learn what they lose, so that no partition has two at a time.
    for (const member of members) member.assign(shares.get(member)!);
  }
}

/** Deals each topic's partitions to its subscribers in turn. */
export function assignPartitions(
  members: readonly GroupMember[],
  partitionCount: (topic: string) => number,
): Map<GroupMember, PartitionName[]> {
  const shares = new Map<GroupMember, PartitionName[]>(members.map((member) => [member, []]));
  const topics = [...new Set(members.flatMap((member) => member.topics))].sort();
  for (const topic of topics) {
    const subscribers = members.filter((member) => member.topics.includes(topic));
    for (let partition = 0; partition < partitionCount(topic); partition++) {
      shares.get(subscribers[partition % subscribers.length]!)!.push({ topic, partition });
    }
  }
  return shares;
}
