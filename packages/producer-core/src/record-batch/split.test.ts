import { describe, expect, test } from 'vitest';
import { javaBatches } from '../../vectors/java-batches.ts';
import { loadAvailableCodecs } from './codecs/load-codec.ts';
import { stampBatch } from './header.ts';
import { decodeRecordBatch } from './reader.ts';
import { splitBatch } from './split.ts';

const codecs = await loadAvailableCodecs();
const whole = (compression: string, recordCount: number) =>
  javaBatches.find((vector) => vector.compression === compression && vector.recordCount === recordCount)!;

describe('splitBatch', () => {
  test.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'])(
    'C11: keeps every record, from a batch compressed with %s',
    (name) => {
      const { bytes } = whole(name, 200);
      const { header, records } = decodeRecordBatch(bytes, { codecs });
      const [first, second] = splitBatch(bytes, codecs).map((half) => decodeRecordBatch(half));
      expect(first!.records).toEqual(records.slice(0, 100));
      expect(second!.records).toEqual(
        records.slice(100).map((record) => ({ ...record, offset: record.offset - 100n })),
      );
      const { producerId, producerEpoch } = header;
      expect(first!.header).toMatchObject({
        codecId: 0,
        producerId,
        producerEpoch,
        baseSequence: 900,
        recordCount: 100,
      });
      expect(second!.header).toMatchObject({
        codecId: 0,
        producerId,
        producerEpoch,
        baseSequence: 1000,
        recordCount: 100,
      });
    },
  );

  test('C10, C11: numbers wrap between the halves, and the first half is the larger', () => {
    const { bytes } = whole('none', 3);
    const headers = splitBatch(bytes).map((half) => decodeRecordBatch(half).header);
    expect(headers).toMatchObject([
      { baseSequence: 2_147_483_646, recordCount: 2 },
      { baseSequence: 0, recordCount: 1 },
    ]);
  });

  test('C11: a batch without numbers stays without', () => {
    const bytes = Buffer.from(whole('none', 200).bytes);
    stampBatch(bytes, bytes.length, { producerId: -1n, epoch: -1, baseSequence: -1 });
    for (const half of splitBatch(bytes)) {
      expect(decodeRecordBatch(half).header).toMatchObject({ producerId: -1n, producerEpoch: -1, baseSequence: -1 });
    }
  });

  test('C11: bytes that are not a sound batch are a typed error', () => {
    const bytes = Buffer.from(whole('none', 200).bytes).fill(0xff, 100, 101);
    expect(() => splitBatch(bytes)).toThrow(expect.objectContaining({ code: 'CRC_MISMATCH' }));
  });

  test('C11: one record can not be split', () => {
    expect(() => splitBatch(whole('none', 1).bytes)).toThrow(RangeError);
  });
});
