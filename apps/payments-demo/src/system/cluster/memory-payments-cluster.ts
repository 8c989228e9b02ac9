import { decodeRecordBatch } from '@sendonce/producer-core/record-batch';
import type {
  MemoryCluster,
  MemoryConsumer,
  ConsumedRecord as MemoryRecord,
  MemoryTransportOptions,
} from '@sendonce/transport-memory';
import type { ConsumedRecord, GroupMember, PaymentsCluster, RecordHandler } from './payments-cluster.ts';

/**
 * A cluster in this process, which others may look into and break meanwhile.
 * @param times How long a broker may take to let a client in, and to say who leads.
 */
export function memoryPaymentsCluster(cluster: MemoryCluster, times: MemoryTransportOptions = {}): PaymentsCluster {
  const partitionsOf = new Map<string, number>();
  return {
    kind: 'memory',
    transport: () => cluster.transport(times),
    async ensureTopic(topic, partitions) {
      partitionsOf.set(topic, partitions);
      if (!hasTopic(cluster, topic)) cluster.createTopic(topic, { partitions, minInsyncReplicas: 2 });
    },
    join: async (groupId, topic, handle) => new MemoryMember(cluster.consumer({ groupId, topics: [topic] }), handle),
    async committedOffsets(groupId, topic) {
      const offsets = new Map<number, bigint>();
      for (let partition = 0; partition < (partitionsOf.get(topic) ?? 0); partition++) {
        const offset = cluster.committedOffset(groupId, topic, partition);
        if (offset !== null) offsets.set(partition, BigInt(offset));
      }
      return offsets;
    },
    async readAll(topic) {
      const records: ConsumedRecord[] = [];
      for (let partition = 0; partition < (partitionsOf.get(topic) ?? 0); partition++) {
        const { highWatermark } = cluster.partition(topic, partition);
        for (const batch of cluster.partition(topic, partition).batches()) {
          const { records: decoded } = decodeRecordBatch(batch);
          records.push(
            ...decoded
              .filter(({ offset }) => offset < highWatermark)
              .map((record) => ({ topic, partition, ...record })),
          );
        }
      }
      return records;
    },
    batchesRecognised: () => cluster.eventCounts['batch-recognised'] ?? 0,
    close: async () => {},
  };
}

function hasTopic(cluster: MemoryCluster, topic: string): boolean {
  try {
    cluster.partition(topic, 0);
    return true;
  } catch {
    return false;
  }
}

class MemoryMember implements GroupMember {
  readonly #consumer: MemoryConsumer;
  readonly #closing = new AbortController();
  readonly #ended: Promise<void>;
  #isWaiting = true;

  constructor(consumer: MemoryConsumer, handle: RecordHandler) {
    this.#consumer = consumer;
    this.#ended = this.#run(handle);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // While it waits for a record nothing else would end its loop.
    if (this.#isWaiting) await this.#consumer.close();
    await this.#ended;
    await this.#consumer.close();
  }

  async #run(handle: RecordHandler): Promise<void> {
    const { signal } = this.#closing;
    const inHand = { signal, heartbeat: async () => {} };
    for await (const record of this.#consumer) {
      this.#isWaiting = false;
      try {
        await handle(plainRecord(record), inHand);
      } catch {
        this.#consumer.crash();
        return;
      }
      // A rebalance took the partition away meanwhile: its new owner is given the record again.
      await this.#consumer.commit().catch(() => undefined);
      this.#isWaiting = true;
      if (signal.aborted) return;
    }
  }
}

function plainRecord({ topic, partition, offset, key, value, headers }: MemoryRecord): ConsumedRecord {
  return { topic, partition, offset, key, value, headers };
}
