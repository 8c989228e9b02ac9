import { batchHeaderBytes, headerAt, writeBatchCrc } from '@sendonce/producer-core/record-batch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkBatch, isFault } from './batch-check.ts';
import { batchOf } from './batches.testkit.ts';

const options = {
  maxMessageBytes: 1_000,
  decompress: (): Buffer => {
    throw new Error('not compressed data');
  },
};

function errorOf(bytes: Buffer): number {
  const checked = checkBatch(bytes, options);
  return isFault(checked) ? checked.errorCode : 0;
}

/** Seals the batch again, so that the damage is not found by its checksum. */
function resealed(bytes: Buffer): Buffer {
  writeBatchCrc(bytes, bytes.length);
  return bytes;
}

describe('M3: before a batch is stored', () => {
  it('a sound one passes, and its header is what it says', () => {
    const header = checkBatch(batchOf({ producerId: 9, epoch: 3, baseSequence: 7, count: 2 }), options);
    expect(header).toMatchObject({ producerId: 9n, producerEpoch: 3, baseSequence: 7, recordCount: 2 });
  });

  it('one flipped bit after the CRC is corruption', () => {
    fc.assert(
      fc.property(fc.nat(), (at) => {
        const bytes = batchOf({ producerId: 1, count: 3 });
        const bits = (bytes.length - headerAt.crc) * 8;
        const bit = headerAt.crc * 8 + (at % bits);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        // A transactional flag is looked at before the checksum, as Kafka does.
        expect([2, 53]).toContain(errorOf(bytes));
      }),
    );
  });

  it('any cut is refused', () => {
    const bytes = batchOf({ producerId: 1, count: 3 });
    for (let length = 0; length < bytes.length; length++) expect(errorOf(bytes.subarray(0, length))).not.toBe(0);
  });

  it('bytes behind the batch are refused: what is stored is what was sent', () => {
    for (const extra of [1, 11, 12, 100]) {
      expect(errorOf(Buffer.concat([batchOf({ producerId: 1 }), Buffer.alloc(extra)]))).toBe(87);
    }
    expect(errorOf(Buffer.concat([batchOf({}), batchOf({})]))).toBe(87);
  });

  it('any records section with a good checksum is refused or sound, without an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (section, count) => {
        const header = batchOf({ producerId: 1, count }).subarray(0, batchHeaderBytes);
        const bytes = Buffer.concat([header, section]);
        bytes.writeInt32BE(bytes.length - 12, headerAt.batchLength);
        expect([0, 87]).toContain(errorOf(resealed(bytes)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('any header with a good checksum is refused or sound, without an exception', () => {
    fc.assert(
      fc.property(fc.integer({ min: headerAt.attributes, max: batchHeaderBytes - 1 }), fc.nat(255), (at, byte) => {
        const bytes = batchOf({ producerId: 1, count: 3 });
        bytes[at] = byte;
        expect([0, 87, 53, -1]).toContain(errorOf(resealed(bytes)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('a batch over the limit is too large, to the byte', () => {
    const bytes = batchOf({ value: 'x'.repeat(500) });
    expect(isFault(checkBatch(bytes, { ...options, maxMessageBytes: bytes.length }))).toBe(false);
    expect(checkBatch(bytes, { ...options, maxMessageBytes: bytes.length - 1 })).toMatchObject({ errorCode: 10 });
  });

  it('records with keys, headers and null values pass', async () => {
    const { RecordBatchWriter, stampBatch } = await import('@sendonce/producer-core/record-batch');
    const buffer = Buffer.alloc(4_096);
    const writer = new RecordBatchWriter(buffer, 1_000);
    writer.tryAppend(
      'key',
      null,
      [
        ['a', Buffer.from('1')],
        ['a', null],
        ['', 'x'],
      ],
      500,
      buffer.length,
    );
    writer.tryAppend(Buffer.alloc(200), '', undefined, 2 ** 41, buffer.length);
    const bytes = writer.finish();
    stampBatch(bytes, bytes.length, { producerId: 1n, epoch: 0, baseSequence: 0 });
    expect(isFault(checkBatch(bytes, { ...options, maxMessageBytes: 4_096 }))).toBe(false);
  });

  describe('a record section is refused that', () => {
    const record = (...bytes: number[]): Buffer => Buffer.from([bytes.length * 2, ...bytes]);
    const batchWith = (section: Buffer): Buffer => {
      const bytes = Buffer.concat([batchOf({}).subarray(0, batchHeaderBytes), section]);
      bytes.writeInt32BE(bytes.length - 12, headerAt.batchLength);
      return resealed(bytes);
    };
    it('as a control: a sound one passes', () => {
      expect(errorOf(batchWith(record(0, 0, 0, 1, 2, 120, 0)))).toBe(0);
    });
    it.each([
      ['has a varint of six bytes', record(0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 1, 0)],
      ['has a varlong of eleven bytes', record(0, ...new Array(10).fill(0x80), 0, 0, 1, 1, 0)],
      ['has a key longer than the record', record(0, 0, 0, 126, 1, 0)],
      ['has a value that ends before the record', record(0, 0, 0, 1, 2, 120, 0, 0)],
      ['has a negative number of headers', record(0, 0, 0, 1, 1, 1)],
      ['has more headers than bytes', record(0, 0, 0, 1, 1, 20, 0, 0)],
      ['has a header with a null key', record(0, 0, 0, 1, 1, 2, 1, 1)],
      ['has a header key longer than the record', record(0, 0, 0, 1, 1, 2, 100, 1)],
      ['is empty', Buffer.alloc(0)],
      ['holds a record of no bytes', Buffer.from([0])],
      ['ends within the timestamp', record(0, 0x80)],
    ])('%s', (_, section) => {
      expect(errorOf(batchWith(section))).toBe(87);
    });
  });
});

describe('M3: what is wrong is named, and found in a broker’s order', () => {
  const sound = (): Buffer => batchOf({ producerId: 1, count: 2 });
  const withLength = (bytes: Buffer, batchLength: number): Buffer => {
    bytes.writeInt32BE(batchLength, headerAt.batchLength);
    return bytes;
  };
  const withMagic = (bytes: Buffer, magic: number): Buffer => {
    bytes.writeInt8(magic, headerAt.magic);
    return bytes;
  };
  const withCount = (count: number, lastOffsetDelta: number): Buffer => {
    const bytes = sound();
    bytes.writeInt32BE(count, headerAt.recordCount);
    bytes.writeInt32BE(lastOffsetDelta, headerAt.lastOffsetDelta);
    return resealed(bytes);
  };
  const withAttributes = (bytes: Buffer, attributes: number): Buffer => {
    bytes.writeInt16BE(attributes, headerAt.attributes);
    return resealed(bytes);
  };
  const withBaseOffset = (baseOffset: bigint): Buffer => {
    const bytes = sound();
    bytes.writeBigInt64BE(baseOffset, headerAt.baseOffset);
    return bytes;
  };
  const withSequence = (producerId: number): Buffer => batchOf({ producerId, baseSequence: -1 });
  const wrongCrc = (): Buffer => {
    const bytes = sound();
    bytes[headerAt.crc]! ^= 1;
    return bytes;
  };

  it.each<readonly [what: string, bytes: Buffer, errorCode: number, reason: string]>([
    ['no room for a length', sound().subarray(0, 11), 87, 'no whole batch'],
    ['only a length, which is too small', withLength(sound(), 13).subarray(0, 12), 2, 'can’t be 13 bytes long'],
    ['a length too small for any format', withMagic(withLength(sound(), 13), 1), 2, 'can’t be 13 bytes long'],
    ['a negative length', withLength(sound(), -1), 2, 'can’t be -1 bytes long'],
    ['no room for a magic', sound().subarray(0, headerAt.magic), 87, 'no whole batch'],
    ['a magic below any', withMagic(sound(), -1), 2, 'no magic -1'],
    ['a magic above any, although it is cut', withMagic(sound(), 3).subarray(0, 20), 2, 'no magic 3'],
    ['an old magic that is cut', withMagic(sound(), 1).subarray(0, 30), 87, 'no whole batch'],
    ['an old magic', withMagic(sound(), 1), 87, 'magic 1 is not accepted'],
    ['an old magic in the smallest batch', withMagic(withLength(sound(), 14), 1), 87, 'magic 1 is not accepted'],
    ['a whole that is shorter than a header', withLength(sound(), 48).subarray(0, 60), 2, 'shorter than its header'],
    ['a transaction', withAttributes(sound(), 0b1_0000), 53, 'transactional'],
    ['a base offset', withBaseOffset(5n), 87, 'base offset must be 0, not 5'],
    ['too many bytes', batchOf({ value: 'x'.repeat(2_000) }), 10, 'the limit of 1000'],
    ['a wrong checksum, and bytes behind it', Buffer.concat([wrongCrc(), Buffer.alloc(3)]), 2, 'CRC32C'],
    ['bytes behind it', Buffer.concat([sound(), Buffer.alloc(3)]), 87, '3 bytes follow the batch'],
    ['a codec that does not exist', withAttributes(sound(), 5), -1, 'no compression codec 5'],
    ['zstd that is none', withAttributes(sound(), 4), -1, 'decompressed: not compressed data'],
    ['no records', withCount(0, -1), 87, 'can’t hold 0 records'],
    ['fewer than no records', withCount(-1, -2), 87, 'can’t hold -1 records'],
    ['a count that does not fit the last offset', withCount(2, 2), 87, 'last offset delta is 2, the record count 2'],
    ['control records', withAttributes(sound(), 0b10_0000), 87, 'control records'],
    ['a negative sequence', withSequence(1), 87, 'sequence -1 is negative'],
  ])('%s', (_, bytes, errorCode, reason) => {
    const checked = checkBatch(bytes, options);
    expect(checked).toMatchObject({ errorCode, reason: expect.stringContaining(reason.replace('’', "'")) });
  });

  it('a batch without a producer id needs no sequence', () => {
    expect(errorOf(withSequence(-1))).toBe(0);
  });

  describe('offset deltas that are not 0, 1, 2, …', () => {
    const secondDelta = (bytes: Buffer): number => bytes.length - 5;
    const decompressed = { ...options, decompress: (_: number, bytes: Buffer): Buffer => bytes };
    const damaged = (attributes: number): Buffer => {
      const bytes = sound();
      expect(bytes[secondDelta(bytes)]).toBe(2);
      bytes[secondDelta(bytes)] = 4;
      return withAttributes(bytes, attributes);
    };

    it('are refused in a compressed batch, and a sound one passes', () => {
      expect(checkBatch(damaged(1), decompressed)).toMatchObject({
        errorCode: 87,
        reason: 'record 1 has offset delta 2',
      });
      expect(isFault(checkBatch(withAttributes(sound(), 1), decompressed))).toBe(false);
    });

    it('are taken in a plain one, as Kafka does', () => {
      expect(isFault(checkBatch(damaged(0), decompressed))).toBe(false);
    });
  });
});
