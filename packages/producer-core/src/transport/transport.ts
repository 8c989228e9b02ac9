/** How many replicas must have a batch before the broker answers. Kafka: all = -1, leader = 1, none = 0. */
export type Acks = 'all' | 'leader' | 'none';

/** One batch for one partition, inside a produce request. */
export interface ProducePartition {
  readonly topic: string;
  /**
   * The id of the topic that the batch is for, as {@link Transport.metadata} told it. Where the protocol has ids, the request must say
   * this one, even if metadata that is newer has another: the batch's numbers count in the topic that it is for.
   */
  readonly topicId?: string | undefined;
  readonly partition: number;
  /**
   * A whole record batch (magic 2), numbered and checksummed: opaque to the transport (T1). The producer reuses its memory once
   * the request's promise is settled: a transport must not read it after that, nor change it ever.
   */
  readonly batch: Uint8Array;
}

/** One produce request. A partition appears at most once. */
export interface ProduceRequest {
  readonly acks: Acks;
  /**
   * Time from the call until the transport gives up on an answer, in milliseconds; also sent to the broker as the time it
   * may wait for replicas. A request that timed out costs its connection (T4).
   */
  readonly timeoutMs: number;
  readonly partitions: readonly ProducePartition[];
}

/** The broker's answer for one partition of a produce request. */
export interface PartitionResult {
  readonly topic: string;
  readonly partition: number;
  /** Kafka's error code; 0 is success. */
  readonly errorCode: number;
  /** The broker's own words, where it sent some. */
  readonly errorMessage?: string;
  /** Offset of the batch's first record; -1n when unknown. */
  readonly baseOffset: bigint;
  /** The broker's timestamp when the topic uses LogAppendTime, else -1. Milliseconds since 1970. */
  readonly logAppendTimeMs: number;
  /** First offset that the partition still holds; -1n when the broker did not say. */
  readonly logStartOffset: bigint;
  /** Who leads the partition now, where a refusing broker said so (KIP-951). */
  readonly currentLeader?: { readonly brokerId: number; readonly leaderEpoch: number };
}

export interface BrokerMetadata {
  readonly brokerId: number;
  readonly host: string;
  readonly port: number;
}

export interface PartitionMetadata {
  readonly partition: number;
  readonly errorCode: number;
  /** Broker id of the leader; -1 while there is none. */
  readonly leader: number;
  /** Grows with each election; -1 where the broker does not say. */
  readonly leaderEpoch: number;
}

export interface TopicMetadata {
  readonly topic: string;
  /** 0, or why the topic can't be used, e.g. 3 for UNKNOWN_TOPIC_OR_PARTITION. */
  readonly errorCode: number;
  /** Kafka's topic id (UUID in text form), where the broker gives one: a topic deleted and made again has another. */
  readonly topicId?: string;
  /** In ascending order of `partition`. Empty when `errorCode` is not 0. */
  readonly partitions: readonly PartitionMetadata[];
}

export interface ClusterMetadata {
  readonly brokers: readonly BrokerMetadata[];
  readonly topics: readonly TopicMetadata[];
}

/** A producer id and the first epoch to use with it. */
export interface ProducerIdentity {
  readonly producerId: bigint;
  readonly epoch: number;
}

/**
 * Carries requests to a cluster and answers back. It decides nothing:
 *
 * - T1: never retries, never renumbers, never decodes a batch.
 * - T2: rejects with `TransportError`; says `sent: 'no'` only when no byte left.
 * - T3: requests to one broker reach it in the order of the calls.
 * - T4: a request that timed out costs its connection; the next one uses a new connection. Every other request that was
 *   waiting on the lost connection rejects too.
 *
 * An error that the broker answered for the whole request (`initProducerId`, `metadata`) rejects with `ProtocolError`.
 * Errors of one topic or partition come back as codes, not as rejections. `conformanceCases` of
 * `@sendonce/producer-core/testing` checks all of it (T5).
 */
export interface Transport {
  /** Opens what is needed to answer {@link metadata}. Rejects with `TransportError` when no broker can be reached. */
  connect(signal?: AbortSignal): Promise<void>;
  /** Closes every connection; pending requests reject. Never rejects, may be called twice. */
  close(): Promise<void>;
  /** The cluster's brokers, and the given topics with their leaders. A topic that is missing comes back with its error code. */
  metadata(topics: readonly string[]): Promise<ClusterMetadata>;
  /** Asks for a producer id that nobody has had (KIP-98). */
  initProducerId(): Promise<ProducerIdentity>;
  /** Sends one produce request. Resolves with one result for each partition, in the request's order; `[]`-like immediate results with offset -1n for acks `none`. */
  produce(brokerId: number, request: ProduceRequest): Promise<PartitionResult[]>;
}
