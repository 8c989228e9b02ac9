import { describe, expect, test } from 'vitest';
import { AnswerTimes } from './answer-times.ts';

const backlogMsAfter = (...answersMs: number[]): number => {
  const times = new AnswerTimes();
  for (const tookMs of answersMs) times.answered(tookMs);
  return times.backlogMs;
};

describe('how far behind a broker is', () => {
  test('not at all while nothing was answered, and after the first answer', () => {
    expect(backlogMsAfter()).toBe(0);
    expect(backlogMsAfter(30)).toBe(0);
  });

  test('twice what answers usually take beyond the quickest, at most a second', () => {
    expect(backlogMsAfter(10, ...Array<number>(50).fill(40))).toBeCloseTo(57, 0);
    expect(backlogMsAfter(10, ...Array<number>(50).fill(5_000))).toBe(1_000);
  });

  test('one slow answer says little, and a quick one ends it', () => {
    expect(backlogMsAfter(10, 10, 10, 50)).toBeCloseTo(10, 0);
    expect(backlogMsAfter(40, 40, 10)).toBeGreaterThan(0);
    expect(backlogMsAfter(40, 40, ...Array<number>(50).fill(10))).toBeLessThan(0.1);
  });

  test('a way that has become longer is learned', () => {
    expect(backlogMsAfter(1, ...Array<number>(8_000).fill(50))).toBeLessThan(1);
  });
});
