import type { KafkaBehindProxy } from '@sendonce/test-services';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countSpans } from '../span-count.ts';
import { runStorm, startStormCluster } from '../storm.ts';

const minutes = 1;
const rate = 100;
const longestRecoveryMs = 10_000;
const testTimeoutMs = 240_000;
const startTimeoutMs = 180_000;

let cluster: KafkaBehindProxy;
beforeAll(async () => {
  cluster = await startStormCluster();
}, startTimeoutMs);
afterAll(() => cluster?.stop());

const sum = (counts: Readonly<Record<string, number>>, kinds: readonly string[]) =>
  kinds.reduce((total, kind) => total + (counts[kind] ?? 0), 0);

test.each([
  ['a seed that is always the same', 20_261],
  ['a fresh seed', Math.floor(Math.random() * 1_000_000)],
])(
  'a minute of faults on three real brokers, %s (%i): default options and telemetry on, every record acknowledged, stored once, in order, and every span ended',
  async (_, seed) => {
    const spans = countSpans();
    const report = await runStorm(cluster, { client: 'sendonce', seed, minutes, rate, hooks: spans.hooks });
    const { acknowledged, duplicates, lost, disorder, failedNotStored, failedUnknown, pending } = report.audit;
    const what = `npm run chaos -- --seed ${seed} --minutes ${minutes} --rate ${rate}: ${JSON.stringify(report)}`;
    expect({ acknowledged, duplicates, lost, disorder, failedNotStored, failedUnknown, pending }, what).toEqual({
      acknowledged: minutes * 60 * rate,
      duplicates: 0,
      lost: 0,
      disorder: 0,
      failedNotStored: 0,
      failedUnknown: 0,
      pending: 0,
    });
    expect(report.recoveryMs, what).toBeLessThan(longestRecoveryMs);
    expect(spans.ended, `of ${spans.started} spans`).toBe(spans.started);
    expect(spans.byName.get('send'), what).toBe(minutes * 60 * rate);
    expect(spans.byName.get('attempt'), what).toBeGreaterThan(spans.byName.get('produce')!);
    // It did storm.
    expect(sum(report.faults, ['frozen', 'killed']), what).toBeGreaterThan(0);
    expect(sum(report.faults, ['lose-request', 'lose-reply']), what).toBeGreaterThan(0);
    expect(
      sum(report.faults, ['reset-in-request', 'reset-in-reply', 'reset-after-request', 'connections reset']),
      what,
    ).toBeGreaterThan(0);
  },
  testTimeoutMs,
);
