import { RecordBatchWriter, stampBatch } from '@sendonce/producer-core/record-batch';
import type { PartitionResult, ProduceRequest, Transport } from '@sendonce/producer-core/transport';

export interface TestBatch {
  readonly producerId?: bigint | number;
  readonly epoch?: number;
  readonly baseSequence?: number;
  readonly count?: number;
  readonly timestampMs?: number;
  readonly value?: string;
}

/** A sound batch of `count` equal records. */
export function batchOf({
  producerId = -1,
  epoch = 0,
  baseSequence = 0,
  count = 1,
  timestampMs = Date.UTC(2026, 0, 1),
  value = 'x',
}: TestBatch): Buffer {
  const buffer = Buffer.alloc(128 + count * (value.length + 32));
  const writer = new RecordBatchWriter(buffer, timestampMs);
  for (let index = 0; index < count; index++) writer.tryAppend(null, value, undefined, timestampMs, buffer.length);
  const bytes = writer.finish();
  stampBatch(bytes, bytes.length, { producerId: BigInt(producerId), epoch, baseSequence });
  return bytes;
}

export interface TestProduce extends TestBatch, Partial<Pick<ProduceRequest, 'acks' | 'timeoutMs'>> {
  readonly topic?: string;
  readonly topicId?: string;
  readonly partition?: number;
  readonly broker?: number;
}

/** Sends one batch, and gives its partition's result. */
export async function produceOne(
  transport: Transport,
  { topic = 'payments', topicId, partition = 0, broker = 1, acks = 'all', timeoutMs = 1_000, ...batch }: TestProduce,
): Promise<PartitionResult> {
  const partitions = [{ topic, topicId, partition, batch: batchOf(batch) }];
  const [result] = await transport.produce(broker, { acks, timeoutMs, partitions });
  return result!;
}
