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
