import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSequenceAfter, lastSequence, sequenceAfter } from './sequence.ts';

const sequence = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const count = fc.integer({ min: 0, max: 2 ** 31 - 1 });

describe('sequence numbers', () => {
  test('C10: after 2^31-1 comes 0', () => {
    expect(sequenceAfter(2 ** 31 - 1, 1)).toBe(0);
    expect(sequenceAfter(2 ** 31 - 2, 3)).toBe(1);
    expect(sequenceAfter(7, 3)).toBe(10);
  });

  test('C10: a range over the wrap ends where Java says', () => {
    expect(lastSequence(2_147_483_646, 3)).toBe(0);
    expect(lastSequence(900, 200)).toBe(1099);
    expect(lastSequence(5, 1)).toBe(5);
  });

  test('C10: what comes after is still after, over the wrap too', () => {
    expect(isSequenceAfter(8, 7)).toBe(true);
    expect(isSequenceAfter(7, 7)).toBe(false);
    expect(isSequenceAfter(7, 8)).toBe(false);
    fc.assert(
      fc.property(sequence, fc.integer({ min: 1, max: 2 ** 30 - 1 }), (from, steps) => {
        expect(isSequenceAfter(sequenceAfter(from, steps), from)).toBe(true);
        expect(isSequenceAfter(from, sequenceAfter(from, steps))).toBe(false);
      }),
    );
  });

  test('C10: the result is a sequence number, and the 64-bit sum without the top bits', () => {
    fc.assert(
      fc.property(sequence, count, (from, steps) => {
        expect(sequenceAfter(from, steps)).toBe(Number((BigInt(from) + BigInt(steps)) % 2n ** 31n));
      }),
    );
  });
});
