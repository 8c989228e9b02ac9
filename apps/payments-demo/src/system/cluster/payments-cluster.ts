import type { Transport } from '@sendonce/producer-core/transport';

/** A record as consumers get it, from whatever broker. */
export interface ConsumedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[];
}

export interface InHand {
  /** Aborted when the member is closed: a handler that waits for something should stop waiting, and reject. */
  readonly signal: AbortSignal;
  /** To be called now and then by a handler that takes long, or the group takes its partition away. */
  heartbeat(): Promise<void>;
}

/**
 * Deals with one record for good. Resolves when its offset may be committed. When it rejects the member is gone, as after a crash:
 * what was not committed is delivered again, to the next member.
 */
export type RecordHandler = (record: ConsumedRecord, inHand: InHand) => Promise<void>;

/** A consumer in a group. */
export interface GroupMember {
  /** Finishes the record in hand, commits, leaves the group. */
  close(): Promise<void>;
}

/** What the system needs of a Kafka: the one in this process, or a real one. */
export interface PaymentsCluster {
  readonly kind: 'memory' | 'kafka';
  /** A way to the cluster for one producer, which closes it. */
  transport(clientId: string): Transport;
  /** Creates the topic, if it is not there. Every partition has a leader then. */
  ensureTopic(topic: string, partitions: number): Promise<void>;
  /** Joins a group. Records of a partition come one after the other, and from the first one that the group has not committed. */
  join(groupId: string, topic: string, handle: RecordHandler): Promise<GroupMember>;
  /** Offset of the next record a group has to process, by partition; absent where it committed nothing. */
  committedOffsets(groupId: string, topic: string): Promise<ReadonlyMap<number, bigint>>;
  /** Everything that a topic holds now, in the order of each partition. For audits, not for processing. */
  readAll(topic: string): Promise<readonly ConsumedRecord[]>;
  /** Batches that brokers recognised as repeats of one they had. `null` where that can't be seen from outside. */
  batchesRecognised(): number | null;
  close(): Promise<void>;
}
