import { randomUUID } from 'node:crypto';
import type { Kafka, KafkaMessage } from 'kafkajs';
import type { ConsumedRecord } from './payments-cluster.ts';

export interface PartitionEnds {
  readonly partition: number;
  readonly low: string;
  readonly high: string;
}

/** Everything a topic holds below `ends`, by partition and offset. In a group of its own, which commits nothing. */
export async function readWholeTopic(
  kafka: Kafka,
  topic: string,
  ends: readonly PartitionEnds[],
): Promise<ConsumedRecord[]> {
  const open = new Map(
    ends.filter(({ low, high }) => low !== high).map(({ partition, high }) => [partition, BigInt(high)]),
  );
  const records = new Map<string, ConsumedRecord>();
  if (open.size === 0) return [];
  const consumer = kafka.consumer({ groupId: `payments-audit-${randomUUID()}`, maxWaitTimeInMs: 100 });
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    await new Promise<void>((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
      consumer
        .run({
          autoCommit: false,
          eachBatch: async ({ batch }) => {
            const end = open.get(batch.partition);
            if (end === undefined) return;
            for (const message of batch.messages) {
              // Read twice after a rebalance, it is the same record.
              const record = recordOf(topic, batch.partition, message);
              if (record.offset < end) records.set(`${record.partition}:${record.offset}`, record);
            }
            if (BigInt(batch.lastOffset()) >= end - 1n) open.delete(batch.partition);
            if (open.size === 0) resolve();
          },
        })
        .catch(reject);
    });
  } finally {
    await consumer.disconnect();
  }
  return [...records.values()].sort((a, b) => a.partition - b.partition || (a.offset < b.offset ? -1 : 1));
}

/** kafkajs gives headers as an object, in which a name that repeats has an array. */
export function recordOf(
  topic: string,
  partition: number,
  { offset, key, value, headers = {} }: KafkaMessage,
): ConsumedRecord {
  const pairs = Object.entries(headers).flatMap(([name, values]) =>
    (Array.isArray(values) ? values : [values]).map(
      (each) => [name, each === undefined ? null : Buffer.from(each)] as const,
    ),
  );
  return { topic, partition, offset: BigInt(offset), key, value, headers: pairs };
}
