import type { ProduceRequest, Transport } from '@sendonce/producer-core/transport';

/** Where a batch's header says how many records it has. */
const recordCountAt = 57;

/** Says that everything is stored, in the event-loop turn after the request, and keeps nothing: what is left is the producer's own cost. */
export function answeringTransport(partitions: number): Transport {
  const nextOffsets = new Array<bigint>(partitions).fill(0n);
  const leaders = nextOffsets.map((_, partition) => ({ partition, errorCode: 0, leader: 1, leaderEpoch: 0 }));

  function answer({ partitions: batches }: ProduceRequest) {
    return batches.map(({ topic, partition, batch }) => {
      const baseOffset = nextOffsets[partition]!;
      const count = new DataView(batch.buffer, batch.byteOffset).getInt32(recordCountAt);
      nextOffsets[partition] = baseOffset + BigInt(count);
      return { topic, partition, errorCode: 0, baseOffset, logAppendTimeMs: -1, logStartOffset: 0n };
    });
  }

  return {
    connect: async () => {},
    close: async () => {},
    metadata: async (topics) => ({
      brokers: [{ brokerId: 1, host: 'nowhere', port: 9092 }],
      topics: topics.map((topic) => ({ topic, errorCode: 0, partitions: leaders })),
    }),
    initProducerId: async () => ({ producerId: 1n, epoch: 0 }),
    produce: (_, request) => new Promise((resolve) => setImmediate(() => resolve(answer(request)))),
  };
}
