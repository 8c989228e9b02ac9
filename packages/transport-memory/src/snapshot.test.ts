import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProducerEntry } from './producer-state.ts';
import { decodeSnapshot, encodeSnapshot, SnapshotError } from './snapshot.ts';

const offset = fc.nat(Number.MAX_SAFE_INTEGER);
const sequence = fc.nat(2 ** 31 - 1);
const notebookBatch = fc.record({
  baseSequence: sequence,
  lastSequence: sequence,
  baseOffset: offset,
  lastOffset: offset,
  timestampMs: fc.integer({ min: -(2 ** 50), max: 2 ** 50 }),
});
const producerEntry = fc
  .record({
    epoch: fc.integer({ min: -1, max: 2 ** 15 - 1 }),
    lastWriteMs: fc.nat(2 ** 50),
    batches: fc.array(notebookBatch, { minLength: 1, maxLength: 5 }),
  })
  .map(({ epoch, lastWriteMs, batches }) => {
    const entry = new ProducerEntry(epoch, lastWriteMs);
    for (const batch of batches) entry.add(epoch, batch, lastWriteMs);
    return entry;
  });
const state = fc
  .array(fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), producerEntry))
  .map((entries) => new Map(entries));

function plain(entries: Iterable<readonly [bigint, ProducerEntry]>) {
  return Array.from(entries, ([producerId, { epoch, lastWriteMs, batches }]) => ({
    producerId,
    epoch,
    lastWriteMs,
    batches,
  }));
}

describe('M4: a snapshot', () => {
  it('gives back what was written', () => {
    fc.assert(
      fc.property(state, (entries) => {
        expect(plain(decodeSnapshot(encodeSnapshot(entries, 5)))).toEqual(plain(entries));
      }),
    );
  });

  it('keeps only the newest batch of each producer when asked to', () => {
    fc.assert(
      fc.property(state, (entries) => {
        const kept = plain(entries).map((entry) => ({ ...entry, batches: entry.batches.slice(-1) }));
        expect(plain(decodeSnapshot(encodeSnapshot(entries, 1)))).toEqual(kept);
      }),
    );
  });

  it('with one flipped bit is refused', () => {
    fc.assert(
      fc.property(state, fc.nat(), (entries, at) => {
        const bytes = encodeSnapshot(entries, 5);
        const bit = at % (bytes.length * 8);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        expect(() => decodeSnapshot(bytes)).toThrow(SnapshotError);
      }),
    );
  });

  it('cut short, or with bytes behind it, is refused', () => {
    fc.assert(
      fc.property(state, fc.nat(), (entries, at) => {
        const bytes = encodeSnapshot(entries, 5);
        expect(() => decodeSnapshot(bytes.subarray(0, at % bytes.length))).toThrow(SnapshotError);
        expect(() => decodeSnapshot(Buffer.concat([bytes, Buffer.alloc(1)]))).toThrow(SnapshotError);
      }),
    );
  });

  it('that is any bytes at all is refused, or read, and nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeSnapshot(Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(SnapshotError);
        }
      }),
    );
  });

  it.each([
    ['a count that the bytes cannot hold', (bytes: Buffer) => bytes.writeUInt32BE(0xffffffff, 5)],
    ['a producer with no batch', (bytes: Buffer) => bytes.writeUInt8(0, 9 + 18)],
    ['a producer with more batches than are remembered', (bytes: Buffer) => bytes.writeUInt8(6, 9 + 18)],
    ['an offset that is no number', (bytes: Buffer) => bytes.writeDoubleBE(Number.NaN, 9 + 19 + 8)],
  ])('with a good checksum and %s is refused', async (_, damage) => {
    const { crc32c } = await import('@sendonce/producer-core/record-batch');
    const entry = new ProducerEntry(0, 0);
    entry.add(0, { baseSequence: 0, lastSequence: 0, baseOffset: 0, lastOffset: 0, timestampMs: 0 }, 0);
    const bytes = encodeSnapshot([[1n, entry]], 5);
    damage(bytes);
    bytes.writeUInt32BE(crc32c(bytes.subarray(5)), 1);
    expect(() => decodeSnapshot(bytes)).toThrow(SnapshotError);
  });
});
