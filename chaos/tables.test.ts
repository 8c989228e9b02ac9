import { expect, test } from 'vitest';
import type { StormResult } from './results.ts';
import { replaceBetweenMarks, stormTables } from './tables.ts';

const result = (seed: number, lost: number, recoveryMs: number): StormResult => ({
  date: '2026-12-02',
  client: 'sendonce',
  seed,
  minutes: 0.5,
  rate: 100,
  audit: {
    sent: 3_000,
    acknowledged: 3_000,
    pending: 0,
    failedNotStored: 0,
    failedUnknown: 0,
    duplicates: 0,
    lost,
    disorder: 0,
    wrongFates: 0,
    latencyMs: { p50: 10, p99: 20, max: 30 },
    longestPauseMs: 40,
  },
  acknowledgedPerSecond: 90 + seed,
  recoveryMs,
  spans: 6_000,
  openSpans: 0,
  faults: { killed: seed },
});

test('the summary has the sum of counts, the worst time and the least rate; each storm has its row and its faults', () => {
  const lines = stormTables([result(1, 1, 500), result(2, 2, 100)]).split('\n');
  expect(lines).toContain(
    '| sendonce | default | 30 | 100 | 2 | 6,000 | 6,000 | 0 | 0 | 0 | 0 | 3 | 0 | 0 | 10 | 20 | 30 | 40 | 500 | 91 | 0 |',
  );
  expect(lines).toContain('| 2 | 3,000 | 3,000 | 0 | 0 | 0 | 0 | 2 | 0 | 0 | 10 | 20 | 30 | 40 | 100 | 92 | 0 |');
  expect(lines.slice(-2)).toEqual(['| 1 | 1 |', '| 2 | 2 |']);
});

test('the page keeps what is outside the marks', () => {
  const page =
    'before\n<!-- tables of chaos/results.jsonl, made by npm run chaos:report -->\nold\n<!-- end of the tables -->\nafter\n';
  expect(replaceBetweenMarks(page, 'new')).toBe(page.replace('\nold\n', '\n\nnew\n\n'));
  expect(() => replaceBetweenMarks('nothing', 'new')).toThrow('must have the lines');
});
