import { ConfigError, type Transport } from '@sendonce/producer-core/transport';
import { Broker, type BrokerState } from './broker.ts';
import { Codecs } from './codecs.ts';
import { type ConsumerOptions, MemoryConsumer, readConsumerOptions } from './consumer.ts';
import { ConsumerGroup } from './consumer-group.ts';
import { Controller } from './controller.ts';
import type { DumpRow } from './dump.ts';
import { type ClusterEvent, type ClusterEventListener, type ClusterEventType, EventLog } from './events.ts';
import { Faults } from './faults.ts';
import { wholeNumber } from './option-reader.ts';
import { type ClusterSettings, type MemoryClusterOptions, readClusterOptions, type TopicOptions } from './options.ts';
import { PartitionHandle } from './partition-handle.ts';
import { MemoryTransport, type MemoryTransportOptions } from './transport.ts';

/** One broker of the cluster, as a process. */
export interface BrokerHandle {
  readonly brokerId: number;
  readonly state: BrokerState;
  /** SIGKILL: its connections break, what it had not worked on is gone, its logs stay. */
  kill(): void;
  /** Starts it when it was killed; otherwise stops it cleanly and starts it again. It reads its logs before it serves. */
  restart(): void;
  /** SIGSTOP: nothing breaks, nothing is answered, and what clients write waits in the sockets. */
  pause(): void;
  /** SIGCONT: it works through what waited, and hears of new leaders only then. */
  resume(): void;
}

/** A Kafka cluster in this process. */
export class MemoryCluster {
  /** Things that go wrong on purpose. */
  readonly faults: Faults;
  readonly #settings: ClusterSettings;
  readonly #codecs: Codecs;
  readonly #eventLog: EventLog;
  readonly #groups = new Map<string, ConsumerGroup>();
  readonly #controller: Controller;
  readonly #brokers = new Map<number, Broker>();

  /** @internal Use {@link createMemoryCluster}. */
  constructor(settings: ClusterSettings) {
    const { runtime } = settings;
    this.#settings = settings;
    this.#codecs = new Codecs(settings.codecs);
    this.#eventLog = new EventLog(() => runtime.monotonicMs());
    this.#controller = new Controller(settings, this.#codecs, this.#eventLog);
    this.faults = new Faults(runtime, (delay) => this.#controller.producerIds.slowDown(delay));
    for (let brokerId = 1; brokerId <= settings.brokers; brokerId++) {
      const broker = new Broker(brokerId, this.#controller, this.#codecs, this.#eventLog);
      this.#brokers.set(brokerId, broker);
      this.#controller.register(broker);
    }
    for (const [name, topic] of settings.topics) this.#controller.addTopic(name, topic);
  }

  /** A new client's transport, with connections of its own. */
  transport(options: MemoryTransportOptions = {}): Transport {
    const { runtime, latency } = this.#settings;
    return new MemoryTransport(
      {
        runtime,
        latency,
        brokers: this.#brokers,
        events: this.#eventLog,
        planFaults: (brokerId, request) => this.faults.plan(brokerId, request),
      },
      options,
    );
  }

  /** @throws {ConfigError} when there is no such broker. Ids begin at 1. */
  broker(brokerId: number): BrokerHandle {
    const broker = this.#brokers.get(wholeNumber(undefined, { min: 1 })(brokerId, 'brokerId'));
    if (broker !== undefined) return broker;
    throw new ConfigError(`there is no broker ${brokerId}, only 1 to ${this.#brokers.size}`, ['brokerId']);
  }

  /** @throws {ConfigError} when there is no such partition. */
  partition(topic: string, partition: number): PartitionHandle {
    return new PartitionHandle(this.#controller, topic, partition, () => this.#settings.runtime.random());
  }

  /** The leader's batch headers, as Kafka's log dump shows them. */
  dump(topic: string, partition: number): DumpRow[] {
    return this.partition(topic, partition).log();
  }

  /** @throws {ConfigError} when the topic exists, or an option is wrong. */
  createTopic(topic: string, options: TopicOptions = {}): void {
    this.#controller.createTopic(topic, options);
    this.#topicChanged(topic);
  }

  /** With its records and its producer state. Made again under the same name it is another topic, with another id. */
  deleteTopic(topic: string): void {
    this.#controller.deleteTopic(topic);
    this.#topicChanged(topic);
  }

  /** @param partitions How many the topic has then. */
  addPartitions(topic: string, partitions: number): void {
    this.#controller.addPartitions(topic, partitions);
    this.#topicChanged(topic);
  }

  /** Blocks of producer ids that were on their way are lost with it; none is given twice (M1). */
  restartController(): void {
    this.#controller.producerIds.restart();
  }

  /**
   * Joins a consumer group, which is rebalanced at once.
   * @throws {ConfigError} naming the option that is wrong or unknown.
   */
  consumer(options: ConsumerOptions): MemoryConsumer {
    const read = readConsumerOptions(options);
    return new MemoryConsumer(read, {
      group: this.#group(read.groupId),
      partition: ({ topic, partition }) => this.#controller.partition(topic, partition),
      codecs: this.#codecs,
      record: this.#eventLog.record,
    });
  }

  /** The offset of the next record that a group has to process; null when it committed nothing. */
  committedOffset(groupId: string, topic: string, partition: number): number | null {
    return this.#groups.get(groupId)?.committed({ topic, partition }) ?? null;
  }

  #group(groupId: string): ConsumerGroup {
    let group = this.#groups.get(groupId);
    if (group === undefined) {
      const partitionCount = (topic: string): number => this.#controller.partitionsOf(topic).length;
      group = new ConsumerGroup(groupId, partitionCount, this.#eventLog.record);
      this.#groups.set(groupId, group);
    }
    return group;
  }

  #topicChanged(topic: string): void {
    for (const group of this.#groups.values()) group.topicChanged(topic);
  }

  /** What happened, oldest first: the last ten thousand events or more. A copy. Requests, connections and stored batches are not among them. */
  get events(): readonly ClusterEvent[] {
    return [...this.#eventLog.kept];
  }

  /** How often each kind of event happened since the cluster was made, those that `events` does not keep included. */
  get eventCounts(): Readonly<Partial<Record<ClusterEventType, number>>> {
    return Object.fromEntries(this.#eventLog.counts);
  }

  /** Tells of every event while it happens, of requests, connections and stored batches too. Returns how to stop. */
  onEvent(listener: ClusterEventListener): () => void {
    return this.#eventLog.listen(listener);
  }
}

/**
 * Makes a cluster: brokers, topics, a network between them and their clients.
 * @throws {ConfigError} naming the option that is wrong or unknown.
 */
export function createMemoryCluster(options: MemoryClusterOptions = {}): MemoryCluster {
  return new MemoryCluster(readClusterOptions(options));
}
