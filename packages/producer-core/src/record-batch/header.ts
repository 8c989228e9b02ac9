import { crc32c } from './crc32c.ts';
import { RecordBatchError } from './record-batch-error.ts';

/** Where each header field of a record batch v2 starts. Numbers are big-endian. */
export const headerAt = {
  /** int64 */
  baseOffset: 0,
  /** int32: bytes after this field */
  batchLength: 8,
  /** int32 */
  partitionLeaderEpoch: 12,
  /** int8: 2 */
  magic: 16,
  /** uint32: CRC32C of everything from `attributes` on */
  crc: 17,
  /** int16: codec (bits 0-2), timestamp type (3), transactional (4), control (5) */
  attributes: 21,
  /** int32 */
  lastOffsetDelta: 23,
  /** int64, milliseconds since 1970 */
  baseTimestamp: 27,
  /** int64, milliseconds since 1970 */
  maxTimestamp: 35,
  /** int64 */
  producerId: 43,
  /** int16 */
  producerEpoch: 51,
  /** int32 */
  baseSequence: 53,
  /** int32 */
  recordCount: 57,
} as const;

/** The header's bytes; the records section follows. */
export const batchHeaderBytes = 61;
/** Bytes that `batchLength` does not count. */
export const batchLengthOverheadBytes = 12;
export const recordBatchMagic = 2;

const codecMask = 0b111;
const logAppendTimeBit = 0b1000;
const transactionalBit = 0b1_0000;
const controlBit = 0b10_0000;

export type TimestampType = 'CreateTime' | 'LogAppendTime';

/** A batch's header as it is in the bytes: nothing of it was checked. */
export interface RecordBatchHeader {
  readonly baseOffset: bigint;
  /** Bytes of the batch after this field: all but the first {@link batchLengthOverheadBytes}. */
  readonly batchLength: number;
  readonly partitionLeaderEpoch: number;
  readonly magic: number;
  readonly crc: number;
  readonly attributes: number;
  /** 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd. */
  readonly codecId: number;
  readonly timestampType: TimestampType;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  readonly lastOffsetDelta: number;
  /** Milliseconds since 1970; the nearest number where 64 bits hold more than a number does. */
  readonly baseTimestampMs: number;
  /** As `baseTimestampMs`. */
  readonly maxTimestampMs: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly recordCount: number;
}

/** A signed 64-bit number without a BigInt: exact up to 2^53. */
function readInt64(view: DataView, at: number): number {
  return view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4);
}

/**
 * Reads a batch's header, without judging it.
 * @throws {RecordBatchError} `TRUNCATED` when fewer than {@link batchHeaderBytes} bytes follow `at`.
 */
export function readBatchHeader(bytes: Uint8Array, at = 0): RecordBatchHeader {
  const available = Math.max(0, bytes.length - at);
  if (available < batchHeaderBytes) {
    throw new RecordBatchError(
      'TRUNCATED',
      'header',
      available,
      `${batchHeaderBytes} bytes expected, ${available} left`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, batchHeaderBytes);
  const attributes = view.getInt16(headerAt.attributes);
  return {
    baseOffset: view.getBigInt64(headerAt.baseOffset),
    batchLength: view.getInt32(headerAt.batchLength),
    partitionLeaderEpoch: view.getInt32(headerAt.partitionLeaderEpoch),
    magic: view.getInt8(headerAt.magic),
    crc: view.getUint32(headerAt.crc),
    attributes,
    codecId: attributes & codecMask,
    timestampType: attributes & logAppendTimeBit ? 'LogAppendTime' : 'CreateTime',
    isTransactional: (attributes & transactionalBit) !== 0,
    isControl: (attributes & controlBit) !== 0,
    lastOffsetDelta: view.getInt32(headerAt.lastOffsetDelta),
    baseTimestampMs: readInt64(view, headerAt.baseTimestamp),
    maxTimestampMs: readInt64(view, headerAt.maxTimestamp),
    producerId: view.getBigInt64(headerAt.producerId),
    producerEpoch: view.getInt16(headerAt.producerEpoch),
    baseSequence: view.getInt32(headerAt.baseSequence),
    recordCount: view.getInt32(headerAt.recordCount),
  };
}

/** The inverse of {@link readInt64}. */
function writeInt64(batch: Buffer, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  batch.writeInt32BE(high, at);
  batch.writeUInt32BE(value - high * 2 ** 32, at + 4);
}

/** What a producer knows of a batch when its last record is in it. */
export interface FinishedBatch {
  readonly codecId: number;
  readonly baseTimestampMs: number;
  readonly maxTimestampMs: number;
  readonly recordCount: number;
}

/** Writes the header of a batch of `size` bytes as a producer sends it, without numbers and CRC: rule C2 writes those later. */
export function writeBatchHeader(batch: Buffer, size: number, finished: FinishedBatch): void {
  batch.fill(0, headerAt.baseOffset, headerAt.batchLength);
  batch.writeInt32BE(size - batchLengthOverheadBytes, headerAt.batchLength);
  batch.writeInt32BE(-1, headerAt.partitionLeaderEpoch);
  batch.writeInt8(recordBatchMagic, headerAt.magic);
  batch.fill(0, headerAt.crc, headerAt.attributes);
  batch.writeInt16BE(finished.codecId, headerAt.attributes);
  batch.writeInt32BE(finished.recordCount - 1, headerAt.lastOffsetDelta);
  writeInt64(batch, headerAt.baseTimestamp, finished.baseTimestampMs);
  writeInt64(batch, headerAt.maxTimestamp, finished.maxTimestampMs);
  // No producer id, epoch -1, sequence -1.
  batch.fill(0xff, headerAt.producerId, headerAt.recordCount);
  batch.writeInt32BE(finished.recordCount, headerAt.recordCount);
}

/** What rule C2 writes when a batch is drained for its first attempt. */
export interface BatchNumbers {
  readonly producerId: bigint;
  readonly epoch: number;
  readonly baseSequence: number;
}

/** Writes a batch's CRC32C into its header: over everything that follows the CRC, up to `size`. */
export function writeBatchCrc(batch: Buffer, size: number): void {
  batch.writeUInt32BE(crc32c(batch.subarray(headerAt.attributes, size)), headerAt.crc);
}

/** Rule C2: numbers a finished batch of `size` bytes, then seals it with its CRC32C. Nothing else of it changes. */
export function stampBatch(batch: Buffer, size: number, numbers: BatchNumbers): void {
  batch.writeBigInt64BE(numbers.producerId, headerAt.producerId);
  batch.writeInt16BE(numbers.epoch, headerAt.producerEpoch);
  batch.writeInt32BE(numbers.baseSequence, headerAt.baseSequence);
  writeBatchCrc(batch, size);
}

/** Adapts the header of a plain batch whose records section was replaced by what codec `codecId` made of it. */
export function sealCompressedBatch(batch: Buffer, codecId: number): void {
  batch.writeInt32BE(batch.length - batchLengthOverheadBytes, headerAt.batchLength);
  batch.writeInt16BE(batch.readInt16BE(headerAt.attributes) | codecId, headerAt.attributes);
  writeBatchCrc(batch, batch.length);
}

/** A broker's part: where the batch is in the log. The CRC does not cover these two fields. */
export function placeBatch(batch: Buffer, baseOffset: bigint, partitionLeaderEpoch: number, at = 0): void {
  batch.writeBigInt64BE(baseOffset, at + headerAt.baseOffset);
  batch.writeInt32BE(partitionLeaderEpoch, at + headerAt.partitionLeaderEpoch);
}
