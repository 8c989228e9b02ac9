import {
  type ClusterMetadata,
  ConfigError,
  protocolErrorCodes,
  type TopicMetadata,
} from '@sendonce/producer-core/transport';
import type { Codecs } from './codecs.ts';
import type { EventLog } from './events.ts';
import { afterBrokerDown, afterBrokerUp, elect, electUnclean, firstAvailable, noLeader } from './leadership.ts';
import { wholeNumber } from './option-reader.ts';
import {
  type ClusterSettings,
  isTopicName,
  partitionsMax,
  readTopicOptions,
  type Topic,
  type TopicOptions,
} from './options.ts';
import { Partition } from './partition.ts';
import { type BrokerProcess, PartitionMember } from './partition-member.ts';
import { ProducerIdController } from './producer-ids.ts';
import { profiles } from './profile.ts';
import { Replica } from './replica.ts';

interface TopicEntry {
  readonly topicId: string;
  readonly options: Topic;
  readonly partitions: Partition[];
}

/** Where brokers listen, as metadata says. Nothing listens there: the transport finds brokers by their ids. */
const host = 'memory';
const firstPort = 9092;
const topicIdBytes = 16;

/** Decides who leads what, and knows which brokers are up. It never fails: what it decided is durable. */
export class Controller {
  readonly producerIds: ProducerIdController;
  readonly #settings: ClusterSettings;
  readonly #codecs: Codecs;
  readonly #events: EventLog;
  readonly #brokers = new Map<number, BrokerProcess>();
  readonly #topics = new Map<string, TopicEntry>();
  /** Brokers that it takes for down. A frozen one is up until its session ends. */
  readonly #down = new Set<number>();
  /** Counts how often a broker came up: a delayed verdict on an outage that is over changes nothing. */
  readonly #outages = new Map<number, number>();

  constructor(settings: ClusterSettings, codecs: Codecs, events: EventLog) {
    this.#settings = settings;
    this.#codecs = codecs;
    this.#events = events;
    this.producerIds = new ProducerIdController({
      firstId: BigInt(settings.firstProducerId),
      blockSize: settings.producerIdBlockSize,
      blockDelay: settings.producerIdBlockDelay,
      runtime: settings.runtime,
      record: events.record,
    });
  }

  register(broker: BrokerProcess): void {
    this.#brokers.set(broker.brokerId, broker);
  }

  get topicNames(): string[] {
    return [...this.#topics.keys()];
  }

  /** Whether a request that gives this id means another topic than the one that has the name now, or one that is gone. */
  isOtherTopic(topic: string, topicId: string | undefined): boolean {
    return this.#settings.topicIds && topicId !== undefined && this.#topics.get(topic)?.topicId !== topicId;
  }

  partition(topic: string, partition: number): Partition | undefined {
    return this.#topics.get(topic)?.partitions[partition];
  }

  partitionsOf(topic: string): readonly Partition[] {
    return this.#topics.get(topic)?.partitions ?? [];
  }

  membersOf(brokerId: number): PartitionMember[] {
    return [...this.#partitions()].flatMap((partition) => partition.member(brokerId) ?? []);
  }

  isAvailable(brokerId: number): boolean {
    return !this.#down.has(brokerId);
  }

  // ---- brokers that come and go

  brokerKilled(brokerId: number): void {
    this.#takeDownAfter(this.#settings.electionDelayMs, brokerId);
  }

  brokerPaused(brokerId: number): void {
    this.#takeDownAfter(this.#settings.sessionTimeoutMs, brokerId);
  }

  /** A clean stop: leadership moves before the process ends. */
  brokerStopping(brokerId: number): void {
    this.#takeDown(brokerId);
  }

  /** A new process. When the controller had not missed the old one yet, it does now: what that one led has to be led anew. */
  brokerStarted(brokerId: number): void {
    this.#takeDown(brokerId);
    this.#takeUp(brokerId);
  }

  brokerResumed(brokerId: number): void {
    this.#takeUp(brokerId);
  }

  #takeDownAfter(delayMs: number, brokerId: number): void {
    if (delayMs <= 0) {
      this.#takeDown(brokerId);
      return;
    }
    const outage = this.#outages.get(brokerId) ?? 0;
    this.#settings.runtime.schedule(delayMs, () => {
      if ((this.#outages.get(brokerId) ?? 0) === outage) this.#takeDown(brokerId);
    });
  }

  #takeDown(brokerId: number): void {
    if (this.#down.has(brokerId)) return;
    this.#down.add(brokerId);
    this.#events.record({ type: 'broker-fenced', brokerId });
    for (const partition of this.#partitions()) {
      partition.decide(
        afterBrokerDown(partition.leadership, brokerId, partition.assigned, (id) => this.isAvailable(id)),
      );
    }
  }

  #takeUp(brokerId: number): void {
    this.#outages.set(brokerId, (this.#outages.get(brokerId) ?? 0) + 1);
    this.#down.delete(brokerId);
    for (const partition of this.#partitions()) {
      const member = partition.member(brokerId);
      if (member === undefined) continue;
      partition.decide(afterBrokerUp(partition.leadership, brokerId));
      partition.inform(member);
    }
  }

  // ---- elections that somebody asked for

  /** @throws {ConfigError} when the broker is not an in-sync replica that is up. */
  moveLeader(partition: Partition, brokerId?: number): void {
    const { leader, isr } = partition.leadership;
    const others = isr.filter((id) => id !== leader);
    const target = brokerId ?? firstAvailable(others, partition.assigned, (id) => this.isAvailable(id));
    if (target === leader && target !== noLeader) return;
    if (!isr.includes(target) || !this.isAvailable(target)) {
      throw new ConfigError(
        `moveLeader: ${brokerId === undefined ? 'no other in-sync replica is' : `broker ${brokerId} is not an in-sync replica that is`} up. In sync: ${isr.join(', ')}`,
        ['brokerId'],
      );
    }
    partition.decide(elect(partition.leadership, target));
  }

  /**
   * Makes a replica leader that was not in sync, and reports what that loses.
   * @throws {ConfigError} while an in-sync replica can lead, or when no other replica is up.
   */
  uncleanElection(partition: Partition, brokerId?: number): void {
    const { leadership } = partition;
    if (leadership.leader !== noLeader) {
      throw new ConfigError(
        `uncleanElection: broker ${leadership.leader} leads. Kill the in-sync replicas (${leadership.isr.join(', ')}) before.`,
        ['uncleanElection'],
      );
    }
    const candidates = partition.members.filter(
      (member) => this.isAvailable(member.brokerId) && (brokerId === undefined || member.brokerId === brokerId),
    );
    const [longest] = candidates.sort((one, other) => other.replica.log.logEndOffset - one.replica.log.logEndOffset);
    if (longest === undefined) {
      throw new ConfigError('uncleanElection: no replica of the partition is up that could lead.', ['brokerId']);
    }
    const recordsLost = partition.committedRecordsMissingFrom(longest);
    this.#events.record({
      type: 'unclean-election',
      topic: partition.topic,
      partition: partition.index,
      leader: longest.brokerId,
      logEndOffset: longest.replica.log.logEndOffset,
      recordsLost,
    });
    partition.decide(electUnclean(leadership, longest.brokerId));
  }

  // ---- topics

  /** @throws {ConfigError} when the topic exists, or an option is wrong. */
  createTopic(name: string, options: TopicOptions = {}): void {
    if (this.#topics.has(name)) throw new ConfigError(`topic "${name}" exists already`, ['topic']);
    const { topicId, partitions } = this.addTopic(name, readTopicOptions(name, options, this.#settings));
    this.#events.record({ type: 'topic-created', topic: name, topicId, partitions: partitions.length });
  }

  addTopic(name: string, options: Topic): TopicEntry {
    const topicId = Buffer.from(
      Array.from({ length: topicIdBytes }, () => Math.floor(this.#settings.runtime.random() * 256)),
    ).toString('base64url');
    const entry: TopicEntry = { topicId, options, partitions: [] };
    this.#topics.set(name, entry);
    this.#growTo(name, entry, options.partitions);
    return entry;
  }

  /** @throws {ConfigError} when there is no such topic, or it has as many partitions already. */
  addPartitions(name: string, partitions: number): void {
    const entry = this.#topicOrThrow(name);
    if (wholeNumber(undefined, { max: partitionsMax })(partitions, 'partitions') <= entry.partitions.length) {
      throw new ConfigError(
        `addPartitions: topic "${name}" has ${entry.partitions.length} partitions; the new number must be larger, not ${partitions}`,
        ['partitions'],
      );
    }
    this.#growTo(name, entry, partitions);
    this.#events.record({ type: 'partitions-added', topic: name, partitions });
  }

  /** Its records, and what its partitions know of producers, are gone. A topic made again under the name has another id. */
  deleteTopic(name: string): void {
    const { topicId, partitions } = this.#topicOrThrow(name);
    this.#topics.delete(name);
    this.#events.record({ type: 'topic-deleted', topic: name, topicId });
    for (const partition of partitions) partition.end();
  }

  #topicOrThrow(name: string): TopicEntry {
    const entry = this.#topics.get(name);
    if (entry === undefined) throw new ConfigError(`there is no topic "${name}"`, ['topic']);
    return entry;
  }

  #growTo(name: string, entry: TopicEntry, count: number): void {
    for (let index = entry.partitions.length; index < count; index++) {
      entry.partitions.push(this.#makePartition(name, index, entry.options));
    }
  }

  #makePartition(topic: string, index: number, options: Topic): Partition {
    const { runtime, profile, replicationDelay, metadataDelay, brokers, ...settings } = this.#settings;
    const rules = profiles[profile];
    const assigned = Array.from(
      { length: options.replicationFactor },
      (_, replica) => ((index + replica) % brokers) + 1,
    );
    const up = assigned.filter((brokerId) => this.isAvailable(brokerId));
    const isr = up.length > 0 ? up : assigned;
    const leadership = { leader: up[0] ?? noLeader, leaderEpoch: 0, isr };
    const members = assigned.map((brokerId) => {
      const process = this.#brokers.get(brokerId)!;
      const replica = new Replica({
        topic,
        partition: index,
        brokerId,
        rules,
        runtime,
        record: this.#events.record,
        segmentBytes: options.segmentBytes,
        firstOffset: options.firstOffset,
        producerIdExpirationMs: settings.producerIdExpirationMs,
        producerIdExpirationCheckMs: settings.producerIdExpirationCheckMs,
      });
      return new PartitionMember(process, replica, runtime);
    });
    const partition = new Partition(members, leadership, {
      ...options,
      topic,
      index,
      rules,
      replicationDelay,
      metadataDelay,
      decompress: this.#codecs.decompress,
      runtime,
      events: this.#events,
      isAvailable: (brokerId) => this.isAvailable(brokerId),
    });
    for (const member of members) partition.learn(member);
    return partition;
  }

  *#partitions(): Generator<Partition, void, undefined> {
    for (const { partitions } of this.#topics.values()) yield* partitions;
  }

  // ---- what it tells

  metadata(topics: readonly string[]): ClusterMetadata {
    const brokers = [...this.#brokers.keys()]
      .filter((brokerId) => this.isAvailable(brokerId))
      .map((brokerId) => ({ brokerId, host, port: firstPort + brokerId - 1 }));
    return { brokers, topics: topics.map((topic) => this.#topicMetadata(topic)) };
  }

  #topicMetadata(topic: string): TopicMetadata {
    const entry = this.#topics.get(topic);
    if (entry === undefined) {
      const { INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION } = protocolErrorCodes;
      const errorCode = isTopicName(topic) ? UNKNOWN_TOPIC_OR_PARTITION : INVALID_TOPIC_EXCEPTION;
      return { topic, errorCode, partitions: [] };
    }
    const partitions = entry.partitions.map(({ index, leadership: { leader, leaderEpoch } }) => ({
      partition: index,
      errorCode: leader === noLeader ? protocolErrorCodes.LEADER_NOT_AVAILABLE : protocolErrorCodes.NONE,
      leader,
      leaderEpoch,
    }));
    return { topic, errorCode: protocolErrorCodes.NONE, topicId: entry.topicId, partitions };
  }
}
