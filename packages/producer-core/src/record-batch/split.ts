import type { CompressionCodec } from './codecs/codec.ts';
import { batchHeaderBytes, type RecordBatchHeader, stampBatch } from './header.ts';
import { decodeRecordBatch } from './reader.ts';
import type { DecodedRecord } from './record-cursor.ts';
import { encodedRecordSize } from './record-size.ts';
import { sequenceAfter } from './sequence.ts';
import { RecordBatchWriter } from './writer.ts';

function encodeBatch(records: readonly DecodedRecord[], header: RecordBatchHeader, from: number): Buffer {
  const baseTimestampMs = records[0]!.timestamp;
  let size = batchHeaderBytes;
  for (const [index, { key, value, headers, timestamp }] of records.entries()) {
    size += encodedRecordSize(key, value, headers, index, timestamp - baseTimestampMs);
  }
  const writer = new RecordBatchWriter(Buffer.allocUnsafeSlow(size), baseTimestampMs);
  for (const { key, value, headers, timestamp } of records) writer.tryAppend(key, value, headers, timestamp, size);
  const batch = writer.finish();
  const { producerId, producerEpoch: epoch, baseSequence } = header;
  stampBatch(batch, size, {
    producerId,
    epoch,
    baseSequence: baseSequence < 0 ? baseSequence : sequenceAfter(baseSequence, from),
  });
  return batch;
}

/**
 * Rule C11, MESSAGE_TOO_LARGE: two uncompressed batches with the records of one, the first with the larger half. They share the
 * whole's range of sequence numbers and are ready to send. `codecs` must have the whole's, if it is compressed.
 * @throws {RangeError} when there is but one record.
 * @throws {RecordBatchError} when the batch is not a sound one.
 */
export function splitBatch(whole: Buffer, codecs: readonly CompressionCodec[] = []): [first: Buffer, second: Buffer] {
  const { header, records } = decodeRecordBatch(whole, { codecs, maxDecompressedBytes: Number.MAX_SAFE_INTEGER });
  if (records.length < 2) throw new RangeError("A batch of one record can't be split");
  const middle = Math.ceil(records.length / 2);
  return [encodeBatch(records.slice(0, middle), header, 0), encodeBatch(records.slice(middle), header, middle)];
}
