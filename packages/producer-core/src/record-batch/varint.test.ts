import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { varintBytes, varlongBytes, writeVarint, writeVarlong } from './varint.ts';

/** The definition, in BigInt: zigzag, then groups of 7 bits. */
function reference(value: number): number[] {
  let zigzag = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
  const bytes: number[] = [];
  while (zigzag > 0x7fn) {
    bytes.push(Number(zigzag & 0x7fn) | 0x80);
    zigzag >>= 7n;
  }
  bytes.push(Number(zigzag));
  return bytes;
}

function written(write: (bytes: Uint8Array, at: number, value: number) => number, value: number): number[] {
  const bytes = Buffer.alloc(16, 0xaa);
  const end = write(bytes, 3, value);
  expect([...bytes.subarray(0, 3), ...bytes.subarray(end)].every((byte) => byte === 0xaa)).toBe(true);
  return [...bytes.subarray(3, end)];
}

const edges32 = [0, 1, -1, 63, 64, -64, -65, 8191, 8192, -8192, -8193, 2 ** 20, 2 ** 27, 2 ** 31 - 1, -(2 ** 31)];
const edges64 = [2 ** 31, -(2 ** 31) - 1, 2 ** 32, 2 ** 48 + 63, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];

describe('varint', () => {
  test.each(edges32)('%d is written as its definition says, in as many bytes as announced', (value) => {
    expect(written(writeVarint, value)).toEqual(reference(value));
    expect(written(writeVarlong, value)).toEqual(reference(value));
    expect(varintBytes(value)).toBe(reference(value).length);
  });

  test.each(edges64)('a varlong of %d is written as its definition says, in as many bytes as announced', (value) => {
    expect(written(writeVarlong, value)).toEqual(reference(value));
    expect(varlongBytes(value)).toBe(reference(value).length);
  });

  test('any 32-bit number and any safe integer is written as its definition says', () => {
    fc.assert(
      fc.property(fc.integer(), fc.maxSafeInteger(), (small, large) => {
        expect(written(writeVarint, small)).toEqual(reference(small));
        expect(varintBytes(small)).toBe(reference(small).length);
        expect(written(writeVarlong, large)).toEqual(reference(large));
        expect(varlongBytes(large)).toBe(reference(large).length);
      }),
    );
  });
});
