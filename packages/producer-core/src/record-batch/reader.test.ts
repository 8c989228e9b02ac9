import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { javaBatches } from '../../vectors/java-batches.ts';
import { writeBatchCrc } from './header.ts';
import { checkBatch, decodeRecordBatch, decodeRecordBatches, readBatches } from './reader.ts';
import { RecordBatchError } from './record-batch-error.ts';

const plain = javaBatches.filter(({ compression }) => compression === 'none');
const batch = plain[1]!;

/** A copy with some bytes changed, and a CRC that covers the change. */
function changed(change: (bytes: Buffer) => void, original: Uint8Array = batch.bytes): Buffer {
  const bytes = Buffer.from(original);
  change(bytes);
  writeBatchCrc(bytes, bytes.length);
  return bytes;
}

/** A batch of one record with these bytes after its length. */
function batchOfRecord(...body: number[]): Buffer {
  const bytes = Buffer.concat([javaBatches[0]!.bytes.subarray(0, 61), Buffer.from([body.length * 2, ...body])]);
  bytes.writeInt32BE(bytes.length - 12, 8);
  writeBatchCrc(bytes, bytes.length);
  return bytes;
}

function errorOf(decode: () => unknown): RecordBatchError {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(RecordBatchError);
    return error as RecordBatchError;
  }
  throw new Error('No error');
}

describe('decodeRecordBatch', () => {
  test.each(plain)("decodes what Java's client wrote: $name", (vector) => {
    const { header, sizeBytes, records } = decodeRecordBatch(vector.bytes);
    expect(sizeBytes).toBe(vector.bytes.length);
    expect(header.crc).toBe(vector.crc);
    expect(records).toEqual(vector.records.map((record, index) => ({ ...record, offset: BigInt(index) })));
  });

  test('counts offsets from the base offset, which the CRC does not cover', () => {
    const bytes = Buffer.from(batch.bytes);
    bytes.writeBigInt64BE(2n ** 60n, 0);
    expect(decodeRecordBatch(bytes).records.map(({ offset }) => offset - 2n ** 60n)).toEqual([0n, 1n, 2n, 3n]);
  });

  test("gives each record the broker's time where the topic uses LogAppendTime", () => {
    const bytes = changed((copy) => {
      copy.writeInt16BE(0b1000, 21);
      copy.writeBigInt64BE(1_800_000_000_000n, 35);
    });
    expect(new Set(decodeRecordBatch(bytes).records.map(({ timestamp }) => timestamp))).toEqual(
      new Set([1_800_000_000_000]),
    );
  });

  test('takes record attributes and offset deltas as they are, as brokers do', () => {
    const { records } = decodeRecordBatch(batchOfRecord(0x55, 0, 10, 1, 1, 0));
    expect(records[0]).toMatchObject({ offset: 5n, key: null, value: null });
  });

  test('reads timestamp deltas of any size that a number can hold', () => {
    // 2^50 as a varlong, and base + delta.
    const { records } = decodeRecordBatch(batchOfRecord(0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x04, 0, 1, 1, 0));
    expect(records[0]!.timestamp).toBe(1_700_000_000_000 + 2 ** 50);
  });
});

describe('M3: bytes that are not a sound batch are a typed error that names the field:', () => {
  const cases: readonly (readonly [string, () => Buffer, string, string])[] = [
    ['nothing at all', () => Buffer.alloc(0), 'TRUNCATED', 'header'],
    ['a cut header', () => batch.bytes.subarray(0, 16), 'TRUNCATED', 'header'],
    ['a cut records section', () => batch.bytes.subarray(0, 100), 'TRUNCATED', 'batchLength'],
    ['batch length 48', () => changed((copy) => copy.writeInt32BE(48, 8)), 'INVALID_LENGTH', 'batchLength'],
    ['a negative batch length', () => changed((copy) => copy.writeInt32BE(-1, 8)), 'INVALID_LENGTH', 'batchLength'],
    [
      'a batch length past the end',
      () => changed((copy) => copy.writeInt32BE(2 ** 31 - 1, 8)),
      'TRUNCATED',
      'batchLength',
    ],
    ['magic 1', () => changed((copy) => copy.writeInt8(1, 16)), 'UNSUPPORTED_MAGIC', 'magic'],
    ['magic 3', () => changed((copy) => copy.writeInt8(3, 16)), 'UNSUPPORTED_MAGIC', 'magic'],
    [
      'a flipped bit',
      () => Buffer.from(batch.bytes.map((byte, at) => (at === 80 ? byte ^ 4 : byte))),
      'CRC_MISMATCH',
      'crc',
    ],
    ['bytes after the batch', () => Buffer.concat([batch.bytes, Buffer.alloc(1)]), 'TRAILING_BYTES', 'batchLength'],
    ['record count 0', () => changed((copy) => copy.writeInt32BE(0, 57)), 'INVALID_COUNT', 'recordCount'],
    ['record count -1', () => changed((copy) => copy.writeInt32BE(-1, 57)), 'INVALID_COUNT', 'recordCount'],
    [
      'a last offset delta of its own',
      () => changed((copy) => copy.writeInt32BE(4, 23)),
      'INVALID_COUNT',
      'lastOffsetDelta',
    ],
    [
      'an absurd count',
      () => changed((copy) => copy.writeInt32BE(2 ** 31 - 2, 23) && copy.writeInt32BE(2 ** 31 - 1, 57)),
      'INVALID_COUNT',
      'recordCount',
    ],
    [
      'a record too many in the count',
      () => changed((copy) => copy.writeInt32BE(4, 23) && copy.writeInt32BE(5, 57)),
      'INVALID_COUNT',
      'recordCount',
    ],
    [
      'a record too few in the count',
      () => changed((copy) => copy.writeInt32BE(2, 23) && copy.writeInt32BE(3, 57)),
      'TRAILING_BYTES',
      'records',
    ],
    ['codec 7', () => changed((copy) => copy.writeInt16BE(7, 21)), 'UNKNOWN_CODEC', 'attributes'],
    ['a codec without a decoder', () => changed((copy) => copy.writeInt16BE(1, 21)), 'UNKNOWN_CODEC', 'attributes'],
    [
      'a record that takes in the next one',
      () => changed((copy) => copy.writeInt8(0x7e, 61)),
      'INVALID_RECORD',
      'records[0].length',
    ],
    [
      'a record past the end',
      () => changed((copy) => copy.writeInt8(0x7e, 61), javaBatches[0]!.bytes),
      'INVALID_RECORD',
      'records[0].length',
    ],
    ['a negative record length', () => changed((copy) => copy.writeInt8(1, 61)), 'INVALID_RECORD', 'records[0].length'],
    [
      'a record length of six bytes',
      () => changed((copy) => copy.fill(0x80, 61, 66)),
      'INVALID_RECORD',
      'records[0].length',
    ],
    ['a record that is too short to be one', () => batchOfRecord(0, 0, 0, 1, 1), 'INVALID_COUNT', 'recordCount'],
    ['a record that ends early', () => batchOfRecord(0, 0, 0, 1, 1, 0, 0), 'INVALID_RECORD', 'records[0].length'],
    ['a key past its record', () => batchOfRecord(0, 0, 0, 10, 1, 1, 0), 'INVALID_RECORD', 'records[0].keyLength'],
    ['a key length of -2', () => batchOfRecord(0, 0, 0, 3, 1, 0, 0), 'INVALID_RECORD', 'records[0].keyLength'],
    [
      'a value past its record',
      () => batchOfRecord(0, 0, 0, 1, 0x7e, 0, 0),
      'INVALID_RECORD',
      'records[0].valueLength',
    ],
    ['header count -1', () => batchOfRecord(0, 0, 0, 1, 1, 1), 'INVALID_RECORD', 'records[0].headerCount'],
    [
      'an absurd header count',
      () => batchOfRecord(0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f),
      'INVALID_RECORD',
      'records[0].headerCount',
    ],
    [
      'a header without a name',
      () => batchOfRecord(0, 0, 0, 1, 1, 2, 1, 1),
      'INVALID_RECORD',
      'records[0].headerNameLength',
    ],
    [
      'a header value past its record',
      () => batchOfRecord(0, 0, 0, 1, 1, 2, 0, 4, 0),
      'INVALID_RECORD',
      'records[0].headerValueLength',
    ],
    [
      'a varint of more than 32 bits',
      () => batchOfRecord(0, 0, 0xff, 0xff, 0xff, 0xff, 0x1f, 1, 1, 0),
      'INVALID_RECORD',
      'records[0].offsetDelta',
    ],
    [
      'a varlong of more than 64 bits',
      () => batchOfRecord(0, ...Array<number>(9).fill(0xff), 2, 0, 1, 1, 0),
      'INVALID_RECORD',
      'records[0].timestampDelta',
    ],
    [
      'a number that runs out of its record',
      () => changed((copy) => copy.writeInt8(12, 61), batchOfRecord(0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 1, 1, 0)),
      'INVALID_RECORD',
      'records[0].timestampDelta',
    ],
    [
      'a number that never ends',
      () => batchOfRecord(0, 0x80, 0x80, 0x80, 0x80, 0x80),
      'INVALID_RECORD',
      'records[0].timestampDelta',
    ],
  ];

  test.each(cases)('%s', (_, bytes, code, field) => {
    expect(errorOf(() => decodeRecordBatch(bytes()))).toMatchObject({ code, field, retriable: false });
  });

  test('a record of seven bytes does not become a flood of memory: objects count against the limit', () => {
    const count = 1000;
    const record = Buffer.from([12, 0, 0, 0, 1, 1, 0]);
    const bytes = Buffer.concat([batch.bytes.subarray(0, 61), ...Array<Buffer>(count).fill(record)]);
    bytes.writeInt32BE(bytes.length - 12, 8);
    bytes.writeInt32BE(count - 1, 23);
    bytes.writeInt32BE(count, 57);
    writeBatchCrc(bytes, bytes.length);
    expect(decodeRecordBatch(bytes).records).toHaveLength(count);
    const decode = () => decodeRecordBatch(bytes, { maxDecompressedBytes: 100_000 });
    expect(errorOf(decode)).toMatchObject({ code: 'DECOMPRESSED_TOO_LARGE', field: 'recordCount' });
  });

  test('headers count against the limit too', () => {
    const bytes = batchOfRecord(0, 0, 0, 1, 1, 40, ...Array<number>(40).fill(0));
    expect(decodeRecordBatch(bytes).records[0]!.headers).toHaveLength(20);
    const decode = () => decodeRecordBatch(bytes, { maxDecompressedBytes: 2000 });
    expect(errorOf(decode)).toMatchObject({ code: 'DECOMPRESSED_TOO_LARGE', field: 'records[0].headerCount' });
  });
});

describe('several batches', () => {
  const log = Buffer.concat(plain.map(({ bytes }) => bytes));

  test('are decoded one after another', () => {
    const sizes = [...decodeRecordBatches(log)].map(({ records }) => records.length);
    expect(sizes).toEqual(plain.map(({ recordCount }) => recordCount));
    expect([...readBatches(log)].map(({ bytes }) => bytes.length)).toEqual(plain.map(({ bytes }) => bytes.length));
  });

  test('of which the last is cut off are an error, after the whole ones', () => {
    const seen: number[] = [];
    const read = () => {
      for (const { records } of decodeRecordBatches(log.subarray(0, -1))) seen.push(records.length);
    };
    expect(errorOf(read).code).toBe('TRUNCATED');
    expect(seen).toEqual(plain.slice(0, -1).map(({ recordCount }) => recordCount));
  });

  test('of which one can be checked alone, at its place', () => {
    expect(checkBatch(log, plain[0]!.bytes.length)).toMatchObject({ crc: plain[1]!.crc });
  });
});

describe('what a real broker stored or refused', () => {
  const { cases } = JSON.parse(
    readFileSync(new URL('../../vectors/hostile-batches-kafka-4.1.json', import.meta.url), 'utf8'),
  ) as { cases: { name: string; bytes: string; error: number; storedRecords: number }[] };

  /** How each of our codes is answered; `null`: a sound batch, which brokers may refuse for what its header asks for. */
  const errorsByCode: Readonly<Record<string, readonly number[]>> = {
    sound: [0, 53, 87],
    TRUNCATED: [87],
    INVALID_LENGTH: [2],
    UNSUPPORTED_MAGIC: [2, 87],
    CRC_MISMATCH: [2],
    INVALID_COUNT: [87],
    INVALID_RECORD: [87],
    TRAILING_BYTES: [87],
    UNKNOWN_CODEC: [-1],
  };

  test.each(cases)('M3: $name (error $error)', ({ bytes, error }) => {
    let code = 'sound';
    try {
      decodeRecordBatch(Buffer.from(bytes, 'hex'));
    } catch (thrown) {
      code = (thrown as RecordBatchError).code;
    }
    expect(errorsByCode[code]).toContain(error);
    if (error === 0) expect(code).toBe('sound');
  });
});
