import { setTimeout as sleep } from 'node:timers/promises';
import { createKafkaTransport } from '@sendonce/transport-kafka';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import { KafkaMember } from './kafka-member.ts';
import { readWholeTopic } from './kafka-read-all.ts';
import type { PaymentsCluster } from './payments-cluster.ts';

export interface KafkaPaymentsClusterOptions {
  /** `host:port`; one that answers is enough. */
  readonly brokers: readonly string[];
  /** What a consumer met, in words. It starts again by itself. */
  readonly onConsumerProblem?: (groupId: string, error: Error) => void;
}

const replicationFactorMax = 3;
const leadersTimeoutMs = 20_000;
const leadersPauseMs = 200;
const retry = {
  initialRetryTime: 100,
  maxRetryTime: 1_000,
  retries: 8,
  // A member's crash is ours to handle: KafkaMember starts a new consumer, and hears of it when that fails.
  restartOnFailure: async () => false,
};

/** A real cluster: produced to by transport-kafka, consumed from with kafkajs. */
export function kafkaPaymentsCluster({ brokers, onConsumerProblem }: KafkaPaymentsClusterOptions): PaymentsCluster {
  const kafka = new Kafka({
    brokers: [...brokers],
    clientId: 'payments-demo',
    connectionTimeout: 3_000,
    requestTimeout: 10_000,
    retry,
    logLevel: logLevel.NOTHING,
  });
  return {
    kind: 'kafka',
    transport: (clientId) => createKafkaTransport({ brokers, clientId }),
    ensureTopic: (topic, partitions) =>
      withAdmin(kafka, async (admin) => {
        const { brokers: members } = await admin.describeCluster();
        const replicationFactor = Math.min(replicationFactorMax, members.length);
        const minInsyncReplicas = Math.max(1, replicationFactor - 1);
        await admin.createTopics({
          // kafkajs gives up when it asks a broker that has not heard of the topic so far; below it is asked again.
          waitForLeaders: false,
          topics: [
            {
              topic,
              numPartitions: partitions,
              replicationFactor,
              configEntries: [{ name: 'min.insync.replicas', value: String(minInsyncReplicas) }],
            },
          ],
        });
        await offsetsOf(admin, topic);
      }),
    join: (groupId, topic, handle) =>
      KafkaMember.join(kafka, { groupId, topic, handle, onProblem: (error) => onConsumerProblem?.(groupId, error) }),
    committedOffsets: (groupId, topic) =>
      withAdmin(kafka, async (admin) => {
        const [offsets] = await admin.fetchOffsets({ groupId, topics: [topic] });
        const committed = (offsets?.partitions ?? []).map(
          ({ partition, offset }) => [partition, BigInt(offset)] as const,
        );
        return new Map(committed.filter(([, offset]) => offset >= 0n));
      }),
    readAll: async (topic) => {
      const ends = await withAdmin(kafka, (admin) => offsetsOf(admin, topic));
      return readWholeTopic(kafka, topic, ends);
    },
    batchesRecognised: () => null,
    close: async () => {},
  };
}

/** Asks until every leader answers: metadata may name one before that broker knows of it, or one that has just moved. */
async function offsetsOf(admin: Admin, topic: string): ReturnType<Admin['fetchTopicOffsets']> {
  const deadlineMs = performance.now() + leadersTimeoutMs;
  for (;;) {
    try {
      return await admin.fetchTopicOffsets(topic);
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await sleep(leadersPauseMs);
    }
  }
}

async function withAdmin<T>(kafka: Kafka, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await use(admin);
  } finally {
    await admin.disconnect();
  }
}
