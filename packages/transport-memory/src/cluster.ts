import { ConfigError, type Transport } from '@sendonce/producer-core/transport';
import { Broker, type BrokerState } from './broker.ts';
import { Controller } from './controller.ts';
import type { DumpRow } from './dump.ts';
import { type ClusterEvent, type ClusterEventListener, type ClusterEventType, EventLog } from './events.ts';
import { Faults } from './faults.ts';
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
  readonly #eventLog: EventLog;
  readonly #controller: Controller;
  readonly #brokers = new Map<number, Broker>();

  /** @internal Use {@link createMemoryCluster}. */
  constructor(settings: ClusterSettings) {
    const { runtime } = settings;
    this.#settings = settings;
    this.#eventLog = new EventLog(() => runtime.monotonicMs());
    this.#controller = new Controller(settings, this.#eventLog);
    this.faults = new Faults(runtime, (delay) => this.#controller.producerIds.slowDown(delay));
    for (let brokerId = 1; brokerId <= settings.brokers; brokerId++) {
      const broker = new Broker(brokerId, this.#controller, this.#eventLog);
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
    const broker = this.#brokers.get(brokerId);
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
  }

  /** With its records and its producer state. Made again under the same name it is another topic, with another id. */
  deleteTopic(topic: string): void {
    this.#controller.deleteTopic(topic);
  }

  /** @param partitions How many the topic has then. */
  addPartitions(topic: string, partitions: number): void {
    this.#controller.addPartitions(topic, partitions);
  }

  /** Blocks of producer ids that were on their way are lost with it; none is given twice (M1). */
  restartController(): void {
    this.#controller.producerIds.restart();
  }

  /** What happened, oldest first: the last ten thousand events or more. A copy. Stored batches are not among them. */
  get events(): readonly ClusterEvent[] {
    return [...this.#eventLog.kept];
  }

  /** How often each kind of event happened since the cluster was made, those that `events` does not keep included. */
  get eventCounts(): Readonly<Partial<Record<ClusterEventType, number>>> {
    return Object.fromEntries(this.#eventLog.counts);
  }

  /** Tells of every event, stored batches included, while it happens. Returns how to stop. */
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
