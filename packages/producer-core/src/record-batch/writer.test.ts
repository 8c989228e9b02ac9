import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { javaBatches } from '../../vectors/java-batches.ts';
import type { RecordBytes, RecordHeaders } from '../record.ts';
import { batchHeaderBytes, readBatchHeader, stampBatch } from './header.ts';
import { decodeRecordBatch } from './reader.ts';
import { encodedRecordSize } from './record-size.ts';
import { RecordBatchWriter } from './writer.ts';

const baseTimestampMs = 1_700_000_000_000;
const unlimited = 2 ** 30;
const numbers = { producerId: 5001n, epoch: 3, baseSequence: 900 };

interface InputRecord {
  readonly key: RecordBytes;
  readonly value: RecordBytes;
  readonly headers?: RecordHeaders | undefined;
  readonly timestampMs: number;
}

/** A batch of these records, in a buffer that grows byte by byte as far as it must. */
function batchOf(records: readonly InputRecord[], capacity = 1 << 20): Buffer {
  const writer = new RecordBatchWriter(Buffer.alloc(capacity, 0xee), records[0]!.timestampMs);
  for (const [index, { key, value, headers, timestampMs }] of records.entries()) {
    const before = writer.size;
    let outcome = writer.tryAppend(key, value, headers, timestampMs, unlimited);
    if (outcome === 'grow') {
      expect(writer.size).toBe(before);
      const delta = timestampMs - records[0]!.timestampMs;
      writer.grow(Buffer.alloc(before + encodedRecordSize(key, value, headers, index, delta), 0xee));
      outcome = writer.tryAppend(key, value, headers, timestampMs, unlimited);
    }
    expect(outcome).toBe('appended');
  }
  const batch = writer.finish();
  stampBatch(batch, batch.length, numbers);
  return batch;
}

function bufferOf(bytes: RecordBytes): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes as Uint8Array);
}

/** What must come out again. */
function expected({ key, value, headers, timestampMs }: InputRecord, index: number): object {
  const pairs = Array.isArray(headers)
    ? (headers as [string, RecordBytes][])
    : Object.entries(headers ?? {}).flatMap(([name, each]) =>
        Array.isArray(each) ? each.map((one) => [name, one] as const) : [[name, each as RecordBytes] as const],
      );
  return {
    offset: BigInt(index),
    timestamp: timestampMs,
    key: bufferOf(key),
    value: bufferOf(value),
    headers: pairs.map(([name, content]) => [Buffer.from(name).toString(), bufferOf(content)]),
  };
}

const plainVectors = javaBatches.filter(({ compression }) => compression === 'none');

describe('RecordBatchWriter', () => {
  test.each(plainVectors)("C1: writes byte for byte what Java's client writes: $name", (vector) => {
    const writer = new RecordBatchWriter(Buffer.alloc(1 << 16, 0xee), vector.records[0]!.timestamp);
    for (const { key, value, headers, timestamp } of vector.records) {
      expect(writer.tryAppend(key, value, headers, timestamp, unlimited)).toBe('appended');
    }
    const batch = writer.finish();
    const { producerId, producerEpoch: epoch, baseSequence } = vector;
    stampBatch(batch, batch.length, { producerId, epoch, baseSequence });
    expect(batch.toString('hex')).toBe(vector.bytes.toString('hex'));
  });

  test.each(plainVectors)("C1: writes text as Java's client writes its UTF-8: $name", (vector) => {
    const text = (bytes: Buffer | null) => (bytes === null ? null : bytes.toString());
    const records = vector.records.map(({ key, value, headers, timestamp }) => ({
      key: text(key),
      value: text(value),
      headers,
      timestampMs: timestamp,
    }));
    expect(batchOf(records).subarray(batchHeaderBytes).equals(vector.bytes.subarray(batchHeaderBytes))).toBe(true);
  });

  test('C2: a finished batch has no producer id, epoch and sequence yet', () => {
    const writer = new RecordBatchWriter(Buffer.alloc(200, 0xee), baseTimestampMs);
    writer.tryAppend(null, 'v', undefined, baseTimestampMs, unlimited);
    expect(readBatchHeader(writer.finish())).toMatchObject({
      baseOffset: 0n,
      partitionLeaderEpoch: -1,
      crc: 0,
      attributes: 0,
      producerId: -1n,
      producerEpoch: -1,
      baseSequence: -1,
    });
  });

  test('keeps the newest timestamp, also when later records are dated before the first', () => {
    const writer = new RecordBatchWriter(Buffer.alloc(400), baseTimestampMs);
    for (const delta of [0, -5, 7, 3]) writer.tryAppend(null, 'v', undefined, baseTimestampMs + delta, unlimited);
    expect(writer).toMatchObject({ count: 4, maxTimestampMs: baseTimestampMs + 7, baseTimestampMs });
    expect(readBatchHeader(writer.finish())).toMatchObject({
      baseTimestampMs,
      maxTimestampMs: baseTimestampMs + 7,
      lastOffsetDelta: 3,
      recordCount: 4,
    });
  });

  test.each([
    ['an object, whose arrays repeat the name', { a: 'x', b: ['y', null, ''], c: Buffer.from([0xff]) }],
    ['pairs, in their order', [['b', 'y'] as const, ['a', null] as const, ['b', ''] as const, ['', 'z'] as const]],
    ['an empty object', {}],
    ['no pairs', []],
  ])('headers may be %s', (_, headers) => {
    const record = { key: null, value: null, headers, timestampMs: baseTimestampMs };
    expect(decodeRecordBatch(batchOf([record])).records).toEqual([expected(record, 0)]);
  });

  test('C1: copies what it is given', () => {
    const value = Buffer.from('before');
    const writer = new RecordBatchWriter(Buffer.alloc(200), baseTimestampMs);
    writer.tryAppend(null, value, undefined, baseTimestampMs, unlimited);
    value.fill('x');
    const batch = writer.finish();
    stampBatch(batch, batch.length, numbers);
    expect(decodeRecordBatch(batch).records[0]!.value).toEqual(Buffer.from('before'));
  });

  test('refuses a record over the limit and keeps the batch as it was', () => {
    const record = ['key', 'value', { h: 'é' }] as const;
    const size = batchHeaderBytes + encodedRecordSize(...record);
    const writer = new RecordBatchWriter(Buffer.alloc(1000), baseTimestampMs);
    expect(writer.tryAppend(...record, baseTimestampMs, size - 1)).toBe('full');
    expect(writer).toMatchObject({ count: 0, size: batchHeaderBytes });
    expect(writer.tryAppend(...record, baseTimestampMs, size)).toBe('appended');
    expect(writer.size).toBe(size);
    expect(writer.tryAppend(...record, baseTimestampMs, size)).toBe('full');
    expect(writer).toMatchObject({ count: 1, size });
  });

  test('says grow when the buffer, but not the limit, is too small by a byte', () => {
    const size = batchHeaderBytes + encodedRecordSize(null, 'aé', undefined);
    const writer = new RecordBatchWriter(Buffer.alloc(size - 1), baseTimestampMs);
    expect(writer.tryAppend(null, 'aé', undefined, baseTimestampMs, size)).toBe('grow');
    expect(writer.count).toBe(0);
    writer.grow(Buffer.alloc(size));
    expect(writer.tryAppend(null, 'aé', undefined, baseTimestampMs, size)).toBe('appended');
    expect(writer.finish()).toHaveLength(size);
  });

  test('C1: text of three bytes a character is not cut off where the buffer would hold two', () => {
    const value = '€'.repeat(1000);
    const writer = new RecordBatchWriter(Buffer.alloc(batchHeaderBytes + 2100), baseTimestampMs);
    expect(writer.tryAppend(null, value, undefined, baseTimestampMs, unlimited)).toBe('grow');
  });

  test('C1: empty text fits at the very end of a buffer', () => {
    const size = batchHeaderBytes + encodedRecordSize('', '', { '': '' });
    const writer = new RecordBatchWriter(Buffer.alloc(size), baseTimestampMs);
    expect(writer.tryAppend('', '', { '': '' }, baseTimestampMs, size)).toBe('appended');
    expect(writer.size).toBe(size);
  });

  test('wrong use throws: a buffer without room for the header, a smaller one to grow into, an empty batch', () => {
    expect(() => new RecordBatchWriter(Buffer.alloc(60), 0)).toThrow(RangeError);
    const writer = new RecordBatchWriter(Buffer.alloc(200), 0);
    expect(() => writer.finish()).toThrow('needs a record');
    writer.tryAppend(null, 'value', undefined, 0, unlimited);
    expect(() => writer.grow(Buffer.alloc(65))).toThrow(RangeError);
  });

  const text = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.string({ unit: 'binary', maxLength: 200 }),
    // Around the lengths where one more byte of UTF-8 needs another byte of length.
    fc.integer({ min: 50, max: 70 }).map((length) => `${'a'.repeat(length)}é`),
    fc.integer({ min: 8150, max: 8200 }).map((length) => `${'a'.repeat(length)}€`),
    // Lone surrogates, which UTF-8 can't say: Node writes U+FFFD.
    fc.array(fc.integer({ min: 0xd7f0, max: 0xe010 }), { maxLength: 40 }).map((units) => String.fromCharCode(...units)),
  );
  const bytes: fc.Arbitrary<RecordBytes> = fc.oneof(fc.constant(null), text, fc.uint8Array({ maxLength: 150 }));
  const headers = fc.option(
    fc.oneof(
      fc.array(fc.tuple(text, bytes), { maxLength: 4 }),
      fc.dictionary(fc.string({ maxLength: 8 }), fc.oneof(bytes, fc.array(bytes, { maxLength: 3 })), { maxKeys: 3 }),
    ),
    { nil: undefined },
  );
  const timestampMs = fc.oneof(
    fc.integer({ min: -200, max: 200 }).map((delta) => baseTimestampMs + delta),
    fc.maxSafeNat(),
  );
  const records = fc.array(fc.record({ key: bytes, value: bytes, headers, timestampMs }), {
    minLength: 1,
    maxLength: 12,
  });

  test('C1: any records come out as they went in, in the size that was announced, from a buffer of any size', () => {
    fc.assert(
      fc.property(records, fc.integer({ min: batchHeaderBytes, max: 3000 }), (input, capacity) => {
        const batch = batchOf(input, capacity);
        const decoded = decodeRecordBatch(batch);
        expect(decoded.records).toEqual(input.map(expected));
        const sizes = input.map(({ key, value, headers: each, timestampMs: at }, index) =>
          encodedRecordSize(key, value, each, index, at - input[0]!.timestampMs),
        );
        expect(batch.length).toBe(sizes.reduce((sum, size) => sum + size, batchHeaderBytes));
      }),
      { numRuns: 500 },
    );
  });

  test('C1: thousands of records, so that offsets take more bytes', () => {
    const input = Array.from({ length: 20_000 }, (_, index) => ({
      key: `k${index}`,
      value: null,
      timestampMs: index * 1000,
    }));
    const decoded = decodeRecordBatch(batchOf(input)).records;
    expect(decoded).toHaveLength(20_000);
    for (const index of [0, 63, 64, 8191, 8192, 19_999]) expect(decoded[index]).toEqual(expected(input[index]!, index));
  });
});
