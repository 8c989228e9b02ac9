import { expect, it } from 'vitest';
import { soak } from '../src/soak/soak.ts';
import { verdictOf } from '../src/soak/verdict.ts';

const durationMs = 120_000;

it('while brokers, consumers, the API and the databases are killed in turn, every accepted payment is applied exactly once', async () => {
  const lines: string[] = [];
  const report = await soak({ durationMs, paymentsPerSecond: 40, say: (line) => lines.push(line) });
  const failed = verdictOf(report).filter(({ held }) => !held);
  expect(failed, lines.join('\n')).toEqual([]);
  expect(new Set(report.troubles.map(({ name }) => name)).size).toBe(7);
  expect(report.payments).toBeGreaterThan(1_000);
}, 400_000);
