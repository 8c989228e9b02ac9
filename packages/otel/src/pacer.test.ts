import { describe, expect, test } from 'vitest';
import { Pacer } from './pacer.ts';

/** Sends `perMs` events a millisecond, adapting every other one, and returns how many were picked in each second. */
function pickedPerSecond(pacer: Pacer, perMs: number, seconds: number, fromMs = 0): number[] {
  return Array.from({ length: seconds }, (_, second) => {
    let picked = 0;
    for (let ms = 0; ms < 1_000; ms++) {
      for (let event = 0; event < perMs; event++) if (pacer.pick()) picked++;
      pacer.adapt(fromMs + second * 1_000 + ms + 1);
    }
    return picked;
  });
}

describe('Pacer', () => {
  test('while there are few, every one is picked', () => {
    const pacer = new Pacer(1_000, 0);
    for (let ms = 0; ms < 10_000; ms += 5) {
      expect(pacer.pick()).toBe(true);
      pacer.adapt(ms);
    }
  });

  test.each([10, 100, 1_000])('of %i events a millisecond about a thousand a second are picked', (perMs) => {
    const [, ...later] = pickedPerSecond(new Pacer(1_000, 0), perMs, 3);
    for (const picked of later) {
      expect(picked).toBeGreaterThan(700);
      expect(picked).toBeLessThanOrEqual(1_100);
    }
  });

  test('every event has the same chance: the picks are spread evenly', () => {
    const pacer = new Pacer(1_000, 0);
    pickedPerSecond(pacer, 100, 1);
    const picks: number[] = [];
    for (let event = 0; event < 10_000; event++) if (pacer.pick()) picks.push(event);
    const distances = new Set(picks.slice(1).map((pick, index) => pick - picks[index]!));
    expect(distances.size).toBe(1);
  });

  test('a burst after silence is bounded before its rate is known', () => {
    const pacer = new Pacer(1_000, 0);
    pacer.adapt(60_000);
    let picked = 0;
    for (let event = 0; event < 100_000; event++) if (pacer.pick()) picked++;
    expect(picked).toBe(100);
  });

  test('after a rush every one is picked again at once', () => {
    const pacer = new Pacer(1_000, 0);
    pickedPerSecond(pacer, 1_000, 2);
    pacer.adapt(5_000);
    pacer.pick();
    pacer.adapt(6_000);
    expect([pacer.pick(), pacer.pick()]).toEqual([true, true]);
  });

  test('a limit of 0 picks none', () => {
    const pacer = new Pacer(0, 0);
    expect(pickedPerSecond(pacer, 10, 2)).toEqual([0, 0]);
  });
});
