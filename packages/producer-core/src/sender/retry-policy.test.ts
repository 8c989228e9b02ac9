import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs } from './retry-policy.ts';

test('the pause doubles from retryBackoffMs to retryBackoffMaxMs, 20 % to either side', () => {
  const options = { retryBackoffMs: 100, retryBackoffMaxMs: 1_000 };
  const middle = [1, 2, 3, 4, 5, 6, 1_000].map((failures) => backoffMs(options, failures, 0.5));
  expect(middle).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
  expect(backoffMs(options, 1, 0)).toBeCloseTo(80);
  expect(backoffMs(options, 1, 0.999_999)).toBeCloseTo(120, 2);
});

test('the pause is finite and never negative', () => {
  fc.assert(
    fc.property(
      fc.nat(10_000),
      fc.nat(10_000),
      fc.nat(),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (first, more, failures, random) => {
        const pause = backoffMs({ retryBackoffMs: first, retryBackoffMaxMs: first + more }, failures, random);
        return pause >= 0 && pause <= (first + more) * 1.2;
      },
    ),
  );
});
