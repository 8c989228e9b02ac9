import type { ProducerRecord } from '@sendonce/producer-core';
import { type BatchNumbers, RecordBatchWriter, stampBatch } from '@sendonce/producer-core/record-batch';
import type { PartitionResult, Transport } from '@sendonce/producer-core/transport';

const recordBytesMax = 4_096;

/** Sends one record with numbers of one's own choosing, past every rule that the producer keeps, to the leader of its partition. */
export async function produceRaw(
  transport: Transport,
  numbers: BatchNumbers,
  { topic, partition = 0, key = null, value, headers, timestamp = 0 }: ProducerRecord,
): Promise<PartitionResult> {
  const writer = new RecordBatchWriter(Buffer.alloc(recordBytesMax), timestamp);
  const outcome = writer.tryAppend(key, value, headers, timestamp, recordBytesMax);
  if (outcome !== 'appended') throw new RangeError(`A record for a raw batch has at most ${recordBytesMax} bytes`);
  const batch = writer.finish();
  stampBatch(batch, batch.length, numbers);

  const { topics } = await transport.metadata([topic]);
  const { leader } = topics[0]!.partitions[partition]!;
  const [result] = await transport.produce(leader, {
    acks: 'all',
    timeoutMs: 1_000,
    partitions: [{ topic, partition, batch }],
  });
  return result!;
}
