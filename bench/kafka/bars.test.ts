import { expect, test } from 'vitest';
import { bars, type Load, type Row } from './bars.ts';

const row = (recordsPerSecond: number, latencyUs?: number): Row => ({
  recordsPerSecond,
  ...(latencyUs === undefined ? {} : { latencyUs }),
});

test('a bar is told where both sides were measured, and says by how much', () => {
  const rows = new Map<Load, ReadonlyMap<string, Row>>([
    [
      '2000',
      new Map([
        ['sendonce', row(700)],
        ['probe', row(1_000)],
        ['kafka-ts', row(141)],
      ]),
    ],
    [
      '1',
      new Map([
        ['sendonce', row(900, 111)],
        ['probe', row(1_000, 100)],
      ]),
    ],
    ['enqueue', new Map([['sendonce', row(1_000)]])],
  ]);
  expect(bars(rows)).toEqual([
    'holds     send(), 2,000 callers: at least 70 % of the probe (0.70)',
    'NOT HELD  send(), 2,000 callers: at least 5 × kafka-ts (4.96)',
    'NOT HELD  one caller: median latency within 10 % of the probe (0.90)',
  ]);
});
