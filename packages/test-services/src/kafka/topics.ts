import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Admin, Kafka, logLevel } from 'kafkajs';

export interface NewTopic {
  readonly topic: string;
  readonly partitions?: number;
  readonly replicationFactor?: number;
  readonly config?: Readonly<Record<string, string | number | boolean>>;
}

export interface StoredRecord {
  readonly partition: number;
  readonly offset: bigint;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;
}

const leadersTimeoutMs = 30_000;
const leadersPauseMs = 50;
const retry = { initialRetryTime: 100, retries: 8 };

function clientOf(bootstrap: readonly string[]): Kafka {
  return new Kafka({
    brokers: [...bootstrap],
    clientId: 'test-services',
    connectionTimeout: 5_000,
    retry,
    logLevel: logLevel.NOTHING,
  });
}

/** Runs `use` with a connected kafkajs admin client. */
export async function withAdmin<T>(bootstrap: readonly string[], use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = clientOf(bootstrap).admin();
  await admin.connect();
  try {
    return await use(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Creates topics and waits until every partition's leader answers. */
export async function createTopics(bootstrap: readonly string[], topics: readonly NewTopic[]): Promise<void> {
  await withAdmin(bootstrap, async (admin) => {
    await admin.createTopics({
      // kafkajs would give up when the broker that it asks has not heard of the topic yet.
      waitForLeaders: false,
      topics: topics.map(({ topic, partitions = 1, replicationFactor = 1, config = {} }) => ({
        topic,
        numPartitions: partitions,
        replicationFactor,
        configEntries: Object.entries(config).map(([name, value]) => ({ name, value: String(value) })),
      })),
    });
    for (const { topic } of topics) await offsetsOf(admin, topic);
  });
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

/** Every record that `topic` holds at the time of the call, by partition and offset, read by kafkajs's consumer. */
export async function readAllRecords(bootstrap: readonly string[], topic: string): Promise<StoredRecord[]> {
  const client = clientOf(bootstrap);
  const ends = await withAdmin(bootstrap, (admin) => offsetsOf(admin, topic));
  const open = new Map(
    ends.filter(({ low, high }) => low !== high).map(({ partition, high }) => [partition, BigInt(high)]),
  );
  const records: StoredRecord[] = [];
  if (open.size === 0) return records;
  const consumer = client.consumer({ groupId: `read-all-${randomUUID()}`, maxWaitTimeInMs: 50, retry });
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      // A young cluster may still be loading its group coordinator: kafkajs then starts the consumer again by itself.
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (!payload.restart) reject(payload.error);
      });
      consumer
        .run({
          autoCommit: false,
          eachBatch: async ({ batch }) => {
            for (const message of batch.messages) {
              records.push({
                partition: batch.partition,
                offset: BigInt(message.offset),
                timestampMs: Number(message.timestamp),
                key: message.key,
                value: message.value,
                headers: message.headers ?? {},
              });
            }
            const end = open.get(batch.partition);
            if (end !== undefined && BigInt(batch.lastOffset()) >= end - 1n) open.delete(batch.partition);
            if (open.size === 0) resolve();
          },
        })
        .catch(reject);
    });
  } finally {
    await consumer.disconnect();
  }
  return records.sort((a, b) => a.partition - b.partition || (a.offset < b.offset ? -1 : 1));
}
