import type { CompressionCodec } from './codecs/codec.ts';
import { decompressedTooLarge, decompressionFailed } from './codecs/decompression-error.ts';
import { crc32c } from './crc32c.ts';
import {
  batchHeaderBytes,
  batchLengthOverheadBytes,
  headerAt,
  type RecordBatchHeader,
  readBatchHeader,
  recordBatchMagic,
} from './header.ts';
import { RecordBatchError } from './record-batch-error.ts';
import { type DecodedRecord, RecordCursor, recordBytesMin, recordMemoryBytes } from './record-cursor.ts';

const defaultMaxDecompressedBytes = 64 * 1024 * 1024;

export interface DecodeOptions {
  /** Decoders for compressed batches, as `loadAvailableCodecs` gives them. Default: none, so that only plain batches can be read. */
  readonly codecs?: readonly CompressionCodec[];
  /**
   * Bounds the memory of a decoded batch: its records section, and the objects for its records and headers, counted at some
   * hundred bytes each. Default 64 MiB. More is an error, not an allocation.
   */
  readonly maxDecompressedBytes?: number;
}

export interface DecodedBatch {
  readonly header: RecordBatchHeader;
  /** The whole batch, header included. */
  readonly sizeBytes: number;
  readonly records: readonly DecodedRecord[];
}

/** A batch of a log or of a fetch response, its records not decoded. */
interface RawBatch {
  readonly header: RecordBatchHeader;
  /** A view, not a copy. */
  readonly bytes: Buffer;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Checks what lies around the header: that a whole batch of a known kind starts at `at`. */
function checkFrame(bytes: Buffer, at: number): number {
  const available = bytes.length - at;
  if (available < headerAt.magic + 1) {
    throw new RecordBatchError(
      'TRUNCATED',
      'header',
      available,
      `${batchHeaderBytes} bytes expected, ${available} left`,
    );
  }
  const batchLength = bytes.readInt32BE(at + headerAt.batchLength);
  if (batchLength < batchHeaderBytes - batchLengthOverheadBytes) {
    throw new RecordBatchError(
      'INVALID_LENGTH',
      'batchLength',
      headerAt.batchLength,
      `a batch length of ${batchLength}`,
    );
  }
  const sizeBytes = batchLength + batchLengthOverheadBytes;
  if (sizeBytes > available) {
    throw new RecordBatchError(
      'TRUNCATED',
      'batchLength',
      headerAt.batchLength,
      `${sizeBytes} bytes expected, ${available} left`,
    );
  }
  const magic = bytes.readInt8(at + headerAt.magic);
  if (magic !== recordBatchMagic) {
    throw new RecordBatchError('UNSUPPORTED_MAGIC', 'magic', headerAt.magic, `magic ${magic}, only 2 is supported`);
  }
  return sizeBytes;
}

function checkCounts({ recordCount, lastOffsetDelta }: RecordBatchHeader): void {
  if (recordCount < 1) {
    throw new RecordBatchError(
      'INVALID_COUNT',
      'recordCount',
      headerAt.recordCount,
      `a record count of ${recordCount}`,
    );
  }
  if (lastOffsetDelta !== recordCount - 1) {
    throw new RecordBatchError(
      'INVALID_COUNT',
      'lastOffsetDelta',
      headerAt.lastOffsetDelta,
      `a last offset delta of ${lastOffsetDelta} with ${recordCount} records`,
    );
  }
}

/**
 * Checks the batch that starts at `at`, its records section apart: length, magic, CRC, record count and last offset delta, in
 * this order. Bytes may follow it.
 * @throws {RecordBatchError}
 */
export function checkBatch(bytes: Uint8Array, at = 0): RecordBatchHeader {
  const buffer = asBuffer(bytes);
  const sizeBytes = checkFrame(buffer, at);
  const header = readBatchHeader(buffer, at);
  const computed = crc32c(buffer.subarray(at + headerAt.attributes, at + sizeBytes)) >>> 0;
  if (computed !== header.crc) {
    throw new RecordBatchError('CRC_MISMATCH', 'crc', headerAt.crc, `CRC ${header.crc} expected, ${computed} computed`);
  }
  checkCounts(header);
  return header;
}

/**
 * The batches of a log or of a fetch response, one after another, each checked as `checkBatch` does.
 * @throws {RecordBatchError} on the first unsound one, and when the last is cut off.
 */
export function* readBatches(bytes: Uint8Array): Generator<RawBatch, void, undefined> {
  const buffer = asBuffer(bytes);
  for (let at = 0; at < buffer.length; ) {
    const header = checkBatch(buffer, at);
    const end = at + header.batchLength + batchLengthOverheadBytes;
    yield { header, bytes: buffer.subarray(at, end) };
    at = end;
  }
}

function decompressed(section: Buffer, codecId: number, options: DecodeOptions, maxBytes: number): Buffer {
  const codec = options.codecs?.find(({ id }) => id === codecId);
  if (codec === undefined) {
    const why = codecId > 4 ? 'no such codec exists' : 'no decoder for it was given';
    throw new RecordBatchError(
      'UNKNOWN_CODEC',
      'attributes',
      headerAt.attributes,
      `compression codec ${codecId}: ${why}`,
    );
  }
  let records: Uint8Array;
  try {
    records = codec.decompress(section, maxBytes);
  } catch (error) {
    // A codec that was plugged in may throw anything.
    throw error instanceof RecordBatchError ? error : decompressionFailed(codec.name, String(error), error);
  }
  if (records.length > maxBytes) throw decompressedTooLarge(codec.name, maxBytes);
  return asBuffer(records);
}

/**
 * Decodes exactly one batch, and checks everything: length, magic, CRC and counts, then every length and count of every
 * record. Memory stays within `maxDecompressedBytes`, whatever the bytes say.
 * @throws {RecordBatchError}
 */
export function decodeRecordBatch(bytes: Uint8Array, options: DecodeOptions = {}): DecodedBatch {
  const buffer = asBuffer(bytes);
  const header = checkBatch(buffer);
  const sizeBytes = header.batchLength + batchLengthOverheadBytes;
  if (sizeBytes !== buffer.length) {
    throw new RecordBatchError(
      'TRAILING_BYTES',
      'batchLength',
      sizeBytes,
      `${buffer.length - sizeBytes} bytes follow it`,
    );
  }
  return { header, sizeBytes, records: decodeRecords(buffer.subarray(0, sizeBytes), header, options) };
}

/**
 * The records of a batch whose header `header` is. For a batch whose CRC and counts were checked before, as a broker does.
 * @throws {RecordBatchError}
 */
export function decodeRecords(batch: Buffer, header: RecordBatchHeader, options: DecodeOptions = {}): DecodedRecord[] {
  const maxBytes = options.maxDecompressedBytes ?? defaultMaxDecompressedBytes;
  const stored = batch.subarray(batchHeaderBytes);
  const section = header.codecId === 0 ? stored : decompressed(stored, header.codecId, options, maxBytes);
  if (header.recordCount > section.length / recordBytesMin) {
    throw new RecordBatchError(
      'INVALID_COUNT',
      'recordCount',
      headerAt.recordCount,
      `${header.recordCount} records in ${section.length} bytes`,
    );
  }
  const { baseOffset, baseTimestampMs, recordCount } = header;
  const memoryLeftBytes = maxBytes - section.length - recordCount * recordMemoryBytes;
  if (memoryLeftBytes < 0) {
    throw new RecordBatchError(
      'DECOMPRESSED_TOO_LARGE',
      'recordCount',
      headerAt.recordCount,
      `${recordCount} records in ${section.length} bytes exceed the limit of ${maxBytes} bytes when decoded`,
    );
  }
  const logAppendTimeMs = header.timestampType === 'LogAppendTime' ? header.maxTimestampMs : null;
  const cursor = new RecordCursor(section, memoryLeftBytes);
  const records: DecodedRecord[] = [];
  for (let index = 0; index < recordCount; index++) {
    if (cursor.isAtEnd) {
      throw new RecordBatchError(
        'INVALID_COUNT',
        'recordCount',
        headerAt.recordCount,
        `${recordCount} records, ${index} found`,
      );
    }
    records.push(cursor.readRecord(index, baseOffset, baseTimestampMs, logAppendTimeMs));
  }
  if (!cursor.isAtEnd) {
    const rest = section.length - cursor.at;
    throw new RecordBatchError(
      'TRAILING_BYTES',
      'records',
      cursor.at,
      `${rest} bytes follow the last of ${recordCount} records`,
    );
  }
  return records;
}

/** Decodes batches that follow one another: a log, or what a fetch request answers. */
export function* decodeRecordBatches(
  bytes: Uint8Array,
  options: DecodeOptions = {},
): Generator<DecodedBatch, void, undefined> {
  for (const { header, bytes: batch } of readBatches(bytes)) {
    yield { header, sizeBytes: batch.length, records: decodeRecords(batch, header, options) };
  }
}
