import { describe, expect, test, vi } from 'vitest';
import { Clock } from './clock.ts';

const msOf = ([seconds, nanoseconds]: [number, number]): number => seconds * 1_000 + nanoseconds / 1e6;

describe('Clock', () => {
  test('tells whole microseconds, in step with the system’s clock', () => {
    const clock = new Clock();
    for (let look = 0; look < 1_000; look++) {
      const now = clock.now();
      expect(now[1] % 1_000).toBe(0);
      expect(Math.abs(msOf(now) - Date.now())).toBeLessThan(20);
    }
  });

  test('never goes back while the system’s clock doesn’t', () => {
    const clock = new Clock();
    let before = msOf(clock.now());
    for (let look = 0; look < 10_000; look++) {
      const now = msOf(clock.now());
      expect(now).toBeGreaterThanOrEqual(before);
      before = now;
    }
  });

  test('follows the system’s clock when that is set', () => {
    const clock = new Clock();
    clock.now();
    const hourLater = Date.now() + 3_600_000;
    const set = vi.spyOn(Date, 'now').mockReturnValue(hourLater);
    try {
      expect(msOf(clock.now())).toBeCloseTo(hourLater, 3);
    } finally {
      set.mockRestore();
    }
  });

  test('follows another clock that it is given', () => {
    let nowMs = 1_700_000_000_123.456_5;
    const clock = new Clock(() => nowMs);
    expect(clock.now()).toEqual([1_700_000_000, 123_457_000]);
    nowMs = 1_700_000_000_999.999_8;
    expect(clock.now()).toEqual([1_700_000_001, 0]);
    expect(clock.elapsedMs()).toBe(nowMs);
  });
});
