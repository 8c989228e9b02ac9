import { crc32c, headerAt } from '@sendonce/producer-core/record-batch';
import type { LogBatch } from './log-batch.ts';
import type { PartitionLog } from './partition-log.ts';

/** A batch header, with the fields and names of Kafka's `kafka-dump-log`. */
export interface DumpRow {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly count: number;
  /** -1 without a producer id; so are the next three. */
  readonly baseSequence: number;
  readonly lastSequence: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly partitionLeaderEpoch: number;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  /** Bytes in the log before this batch, those that retention removed not counted. */
  readonly position: number;
  /** Newest timestamp, in milliseconds since 1970; the broker's own where the topic says so. */
  readonly createTime: number;
  readonly size: number;
  readonly magic: number;
  readonly compresscodec: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
  readonly crc: number;
  /** Whether the CRC matches the bytes. */
  readonly isvalid: boolean;
}

const codecNames = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;

export function dumpLog(log: PartitionLog): DumpRow[] {
  let position = 0;
  const rows: DumpRow[] = [];
  for (const batch of log.batches()) {
    rows.push(dumpBatch(batch, position));
    position += batch.sizeBytes;
  }
  return rows;
}

/** The last rows of {@link dumpLog}, at most `count`, at a cost that does not grow with the log. */
export function dumpNewest(log: PartitionLog, count: number): DumpRow[] {
  const batches = log.newestBatches(count);
  let position = log.sizeBytes - batches.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0);
  return batches.map((batch) => {
    const row = dumpBatch(batch, position);
    position += batch.sizeBytes;
    return row;
  });
}

function dumpBatch(batch: LogBatch, position: number): DumpRow {
  const { header, bytes } = batch;
  return {
    baseOffset: batch.baseOffset,
    lastOffset: batch.lastOffset,
    count: header.recordCount,
    baseSequence: header.baseSequence,
    lastSequence: batch.lastSequence,
    producerId: header.producerId,
    producerEpoch: header.producerEpoch,
    partitionLeaderEpoch: header.partitionLeaderEpoch,
    isTransactional: header.isTransactional,
    isControl: header.isControl,
    position,
    createTime: header.maxTimestampMs,
    size: batch.sizeBytes,
    magic: header.magic,
    compresscodec: codecNames[header.codecId] ?? 'none',
    crc: header.crc,
    isvalid: crc32c(bytes.subarray(headerAt.attributes)) === header.crc,
  };
}
