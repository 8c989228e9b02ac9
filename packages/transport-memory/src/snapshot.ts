import { crc32c } from '@sendonce/producer-core/record-batch';
import { type NotebookBatch, ProducerEntry, rememberedBatches } from './producer-state.ts';

/**
 * Producer state on disk (rule M4). All numbers big-endian:
 *
 *     version u8 | crc32c u32 of all that follows | entry count u32 | entries
 *     entry: producer id i64 | epoch i16 | last write f64 ms | batch count u8 | batches, oldest first
 *     batch: base sequence i32 | last sequence i32 | base offset f64 | last offset f64 | timestamp f64 ms
 */
const version = 1;
const crcAt = 1;
const bodyAt = 5;
const headBytes = 9;
const entryBytes = 8 + 2 + 8 + 1;
const batchBytes = 4 + 4 + 8 + 8 + 8;

/** A snapshot is not what was written: the caller does without it. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

/** Writes the newest `window` batches of each producer. */
export function encodeSnapshot(entries: Iterable<readonly [bigint, ProducerEntry]>, window: number): Buffer {
  const kept = Array.from(entries, ([producerId, entry]) => ({
    producerId,
    entry,
    batches: entry.batches.slice(-window),
  }));
  const size = kept.reduce((sum, { batches }) => sum + entryBytes + batches.length * batchBytes, headBytes);
  const bytes = Buffer.alloc(size);
  let at = bytes.writeUInt8(version, 0);
  at = bytes.writeUInt32BE(kept.length, bodyAt);
  for (const { producerId, entry, batches } of kept) {
    at = bytes.writeBigInt64BE(producerId, at);
    at = bytes.writeInt16BE(entry.epoch, at);
    at = bytes.writeDoubleBE(entry.lastWriteMs, at);
    at = bytes.writeUInt8(batches.length, at);
    for (const batch of batches) {
      at = bytes.writeInt32BE(batch.baseSequence, at);
      at = bytes.writeInt32BE(batch.lastSequence, at);
      at = bytes.writeDoubleBE(batch.baseOffset, at);
      at = bytes.writeDoubleBE(batch.lastOffset, at);
      at = bytes.writeDoubleBE(batch.timestampMs, at);
    }
  }
  bytes.writeUInt32BE(crc32c(bytes.subarray(bodyAt)), crcAt);
  return bytes;
}

/**
 * Reads a snapshot. Takes no more memory than the bytes justify, whatever they say.
 * @throws {SnapshotError} when the bytes are not a whole, undamaged snapshot.
 */
export function decodeSnapshot(bytes: Buffer): Map<bigint, ProducerEntry> {
  if (bytes.length < headBytes) throw new SnapshotError(`${bytes.length} bytes are no snapshot`);
  if (bytes.readUInt8(0) !== version) throw new SnapshotError(`version ${bytes.readUInt8(0)} is not known`);
  if (crc32c(bytes.subarray(bodyAt)) !== bytes.readUInt32BE(crcAt))
    throw new SnapshotError('the CRC32C does not match');
  const count = bytes.readUInt32BE(bodyAt);
  const entries = new Map<bigint, ProducerEntry>();
  let at = headBytes;
  for (let index = 0; index < count; index++) {
    if (bytes.length - at < entryBytes) throw new SnapshotError(`entry ${index} is cut off`);
    const producerId = bytes.readBigInt64BE(at);
    const epoch = bytes.readInt16BE(at + 8);
    const lastWriteMs = readFinite(bytes, at + 10);
    const batchCount = bytes.readUInt8(at + 18);
    at += entryBytes;
    if (batchCount < 1 || batchCount > rememberedBatches)
      throw new SnapshotError(`entry ${index}: ${batchCount} batches`);
    if (bytes.length - at < batchCount * batchBytes) throw new SnapshotError(`entry ${index} is cut off`);
    if (entries.has(producerId)) throw new SnapshotError(`producer ${producerId} appears twice`);
    const entry = new ProducerEntry(epoch, lastWriteMs);
    for (let batch = 0; batch < batchCount; batch++, at += batchBytes) {
      entry.add(epoch, readBatch(bytes, at), lastWriteMs);
    }
    entries.set(producerId, entry);
  }
  if (at !== bytes.length) throw new SnapshotError(`${bytes.length - at} bytes follow the last entry`);
  return entries;
}

function readBatch(bytes: Buffer, at: number): NotebookBatch {
  return {
    baseSequence: bytes.readInt32BE(at),
    lastSequence: bytes.readInt32BE(at + 4),
    baseOffset: readFinite(bytes, at + 8),
    lastOffset: readFinite(bytes, at + 16),
    timestampMs: readFinite(bytes, at + 24),
  };
}

function readFinite(bytes: Buffer, at: number): number {
  const value = bytes.readDoubleBE(at);
  if (!Number.isFinite(value)) throw new SnapshotError(`byte ${at} holds no number`);
  return value;
}
