import { describe, expect, test } from 'vitest';
import { javaBatches } from '../../vectors/java-batches.ts';
import { placeBatch, readBatchHeader, stampBatch, writeBatchCrc } from './header.ts';
import { RecordBatchError } from './record-batch-error.ts';
import { lastSequence } from './sequence.ts';

describe('readBatchHeader', () => {
  test.each(javaBatches)("reads what Java's client wrote: $name", (vector) => {
    const header = readBatchHeader(vector.bytes);
    expect(header).toMatchObject({
      baseOffset: 0n,
      batchLength: vector.bytes.length - 12,
      magic: 2,
      crc: vector.crc,
      codecId: vector.codecId,
      timestampType: 'CreateTime',
      isTransactional: false,
      isControl: false,
      lastOffsetDelta: vector.recordCount - 1,
      baseTimestampMs: vector.records[0]!.timestamp,
      maxTimestampMs: vector.maxTimestamp,
      producerId: vector.producerId,
      producerEpoch: vector.producerEpoch,
      baseSequence: vector.baseSequence,
      recordCount: vector.recordCount,
    });
    if (header.baseSequence >= 0)
      expect(lastSequence(header.baseSequence, header.recordCount)).toBe(vector.lastSequence);
  });

  test('reads each attribute bit and negative times, at any place in a larger buffer', () => {
    const batch = Buffer.concat([Buffer.alloc(5, 0xff), javaBatches[0]!.bytes]);
    batch.writeInt16BE(0b11_1100, 5 + 21);
    batch.writeBigInt64BE(-5n, 5 + 27);
    batch.writeBigInt64BE(2n ** 63n - 1n, 5 + 35);
    expect(readBatchHeader(batch, 5)).toMatchObject({
      codecId: 4,
      timestampType: 'LogAppendTime',
      isTransactional: true,
      isControl: true,
      baseTimestampMs: -5,
      maxTimestampMs: 2 ** 63,
    });
  });

  test.each([0, 1, 12, 60])('of %d bytes is a typed error', (length) => {
    const read = () => readBatchHeader(javaBatches[0]!.bytes.subarray(0, length));
    expect(read).toThrow(RecordBatchError);
    expect(read).toThrow(expect.objectContaining({ code: 'TRUNCATED', field: 'header', at: length }));
  });
});

describe('stampBatch', () => {
  test.each(javaBatches)('C2: writes numbers and CRC exactly as Java does: $name', (vector) => {
    const batch = Buffer.from(vector.bytes);
    batch.fill(0xee, 43, 57);
    batch.fill(0xee, 17, 21);
    stampBatch(batch, batch.length, {
      producerId: vector.producerId,
      epoch: vector.producerEpoch,
      baseSequence: vector.baseSequence,
    });
    expect(batch.equals(vector.bytes)).toBe(true);
  });

  test('C2: leaves everything past the size alone, and out of the CRC', () => {
    const vector = javaBatches[1]!;
    const buffer = Buffer.concat([vector.bytes, Buffer.alloc(40, 0xee)]);
    stampBatch(buffer, vector.bytes.length, { producerId: vector.producerId, epoch: 0, baseSequence: 0 });
    expect(buffer.equals(Buffer.concat([vector.bytes, Buffer.alloc(40, 0xee)]))).toBe(true);
  });
});

test('M4: placing a batch in the log changes base offset and leader epoch, and keeps the CRC sound', () => {
  const { bytes } = javaBatches[1]!;
  const log = Buffer.concat([Buffer.alloc(7), bytes]);
  placeBatch(log, 2n ** 40n + 3n, 17, 7);
  expect(readBatchHeader(log, 7)).toMatchObject({ baseOffset: 2n ** 40n + 3n, partitionLeaderEpoch: 17 });
  const sealed = Buffer.from(log.subarray(7));
  writeBatchCrc(sealed, sealed.length);
  expect(sealed.equals(log.subarray(7))).toBe(true);
});
