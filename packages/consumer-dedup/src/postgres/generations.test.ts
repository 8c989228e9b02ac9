import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GENERATION_TABLES, lockOf, nextStep, phaseOf, spareTable, tablesInUse } from './generations.ts';

const epochs = fc.integer({ min: 0, max: 100_000 });

describe('D8: generations', () => {
  it('go round as documented', () => {
    expect([0, 1, 2, 3, 4, 5, 6].map(tablesInUse)).toEqual([
      { written: [0], read: 2 },
      { written: [0, 1], read: 2 },
      { written: [1], read: 0 },
      { written: [1, 2], read: 0 },
      { written: [2], read: 1 },
      { written: [2, 0], read: 1 },
      { written: [0], read: 2 },
    ]);
  });

  it('epochs that can run side by side always share a written table, so its unique index decides', () => {
    fc.assert(
      fc.property(epochs, (epoch) => {
        const now = tablesInUse(epoch).written;
        const next = tablesInUse(epoch + 1).written;
        expect(now.filter((table) => next.includes(table))).not.toEqual([]);
      }),
    );
  });

  it('epochs that must not run side by side share a lock, and neighbours do not', () => {
    fc.assert(
      fc.property(epochs, (epoch) => {
        expect(lockOf(epoch + 2)).toBe(lockOf(epoch));
        expect(lockOf(epoch + 1)).not.toBe(lockOf(epoch));
      }),
    );
  });

  it('what an epoch wrote is written or read by the next three, and so kept for one generation more', () => {
    fc.assert(
      fc.property(epochs, (epoch) => {
        const newest = tablesInUse(epoch).written.at(-1)!;
        for (let later = epoch; later <= epoch + 3; later++) {
          const { written, read } = tablesInUse(later);
          expect([...written, read]).toContain(newest);
        }
      }),
    );
  });

  it('the table that is emptied is used by no transaction of its epoch, and written by the next one', () => {
    fc.assert(
      fc.property(epochs, (half) => {
        const epoch = 2 * half;
        const { written, read } = tablesInUse(epoch);
        const spare = spareTable(epoch);
        expect([...written, read].toSorted()).toEqual(
          Array.from({ length: GENERATION_TABLES }, (_, table) => table).filter((table) => table !== spare),
        );
        expect(tablesInUse(epoch + 1).written).toContain(spare);
      }),
    );
  });

  it('epochs of one phase use the same tables', () => {
    fc.assert(
      fc.property(epochs, (epoch) => {
        expect(tablesInUse(phaseOf(epoch))).toEqual(tablesInUse(epoch));
      }),
    );
  });

  it('steps follow from the state alone', () => {
    const state = { epoch: 4, spareDirty: false, ageMs: 999, retentionMs: 1000 };
    expect(nextStep(state)).toBe('none');
    expect(nextStep({ ...state, ageMs: 1000 })).toBe('begin-overlap');
    expect(nextStep({ ...state, ageMs: 1000, spareDirty: true })).toBe('clear');
    expect(nextStep({ ...state, spareDirty: true })).toBe('clear');
    expect(nextStep({ ...state, epoch: 5 })).toBe('advance');
  });
});
