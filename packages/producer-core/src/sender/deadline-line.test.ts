import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DeadlineLine } from './deadline-line.ts';
import { CallbackDeadline } from './deadline-queue.ts';

const deadlineAt = (atMs: number): CallbackDeadline => Object.assign(new CallbackDeadline(() => {}), { atMs });

describe('DeadlineLine', () => {
  test('the first one is the oldest that is left, whoever leaves', () => {
    const remove = fc.option(fc.nat(3_000), { nil: null });
    fc.assert(
      fc.property(fc.array(remove, { minLength: 1, maxLength: 6_000 }), (commands) => {
        const line = new DeadlineLine();
        const left: CallbackDeadline[] = [];
        for (const [atMs, place] of commands.entries()) {
          if (place === null || left.length === 0) {
            const deadline = deadlineAt(atMs);
            expect(line.takes(atMs)).toBe(true);
            line.add(deadline);
            left.push(deadline);
          } else {
            const [gone] = left.splice(place % left.length, 1);
            line.remove(gone!);
            expect(gone!.isSet).toBe(false);
          }
          expect(line.first).toBe(left[0]);
          expect(line.size).toBe(left.length);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('a time before the last one is not taken, until the last one left', () => {
    const line = new DeadlineLine();
    const [first, last] = [deadlineAt(10), deadlineAt(30)];
    line.add(first);
    line.add(last);
    expect([line.takes(20), line.takes(30)]).toEqual([false, true]);
    line.remove(last);
    expect(line.takes(20)).toBe(true);
  });

  test.each([
    ['in the order in which they came', 0],
    ['while one stays', 1],
  ])('holes do not add up when thousands come and go, %s', (_, staying) => {
    const line = new DeadlineLine();
    for (let count = 0; count < staying; count++) line.add(deadlineAt(0));
    const there: CallbackDeadline[] = [];
    let slotsMax = 0;
    for (let atMs = 1; atMs <= 50_000; atMs++) {
      const deadline = deadlineAt(atMs);
      line.add(deadline);
      if (there.push(deadline) > 100) line.remove(there.shift()!);
      slotsMax = Math.max(slotsMax, line.slots);
    }
    expect(slotsMax).toBeLessThan(3_000);
    for (const deadline of there) line.remove(deadline);
    expect([line.size, line.first?.atMs]).toEqual([staying, staying === 0 ? undefined : 0]);
  });

  test('cleared, it starts anew', () => {
    const line = new DeadlineLine();
    const gone = deadlineAt(5);
    line.add(gone);
    line.clear();
    expect([gone.isSet, line.size, line.first]).toEqual([false, 0, undefined]);
    const next = deadlineAt(1);
    line.add(next);
    line.remove(next);
    expect(line.size).toBe(0);
  });
});
