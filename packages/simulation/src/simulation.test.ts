import { describe, expect, test } from 'vitest';
import type { Mode } from './plan.ts';
import { describeFailure, gapsIn } from './report.ts';
import { runSeed, type SeedWatch } from './run-seed.ts';
import { runRange } from './seed-range.ts';
import { SpanBalance } from './span-balance.testkit.ts';

/** Where fresh seeds begin: another place each time the tests run. */
const freshFrom = 1_000_000 + Math.floor(Math.random() * 1_000_000_000);

async function expectNoFailure(mode: Mode, from: number, count: number, watch?: () => SeedWatch) {
  console.log(`simulating ${mode} seeds ${from} to ${from + count - 1}`);
  const result = await runRange({ from, count, mode, failuresMax: 3 }, watch);
  const failures = result.failed.map((failure) => describeFailure(failure, mode, undefined));
  expect(failures.join('\n\n')).toBe('');
  return result;
}

describe('simulation', () => {
  test('M7: a seed is the same run to the last step, and another seed another one', async () => {
    const [first, again, other] = [
      await runSeed({ seed: 4, traced: true }),
      await runSeed({ seed: 4, traced: true }),
      await runSeed({ seed: 5, traced: true }),
    ];
    expect(first.trace.length).toBeGreaterThan(100);
    expect(again.trace).toEqual(first.trace);
    expect(again.steps).toBe(first.steps);
    expect(other.trace).not.toEqual(first.trace);
  });

  test('M7: writing the trace changes nothing', async () => {
    expect((await runSeed({ seed: 6 })).steps).toBe((await runSeed({ seed: 6, traced: true })).steps);
  });

  test('telemetry changes nothing', async () => {
    const spans = new SpanBalance();
    const [bare, watched] = [
      await runSeed({ seed: 6, traced: true }),
      await runSeed({ seed: 6, traced: true, watch: spans.watch() }),
    ];
    expect(watched.trace).toEqual(bare.trace);
    expect(watched.steps).toBe(bare.steps);
    expect(spans.ended).toBeGreaterThan(100);
  });

  test('every promise holds under random workloads and faults with telemetry on, every span that starts ends, and everything expected is reached', async () => {
    const spans = new SpanBalance();
    const { coverage, records } = await expectNoFailure('clean', 0, 500, () => spans.watch());
    expect(spans.ended).toBeGreaterThan(records);
    expect(gapsIn(coverage, 'clean')).toEqual([]);
  }, 120_000);

  test('every promise holds on seeds that nobody ran before', async () => {
    await expectNoFailure('clean', freshFrom, 250);
  }, 120_000);

  test('after unclean elections loss is reported, and nothing that survived is stored twice or out of order', async () => {
    const spans = new SpanBalance();
    await expectNoFailure('unclean', 0, 80, () => spans.watch());
    expect(spans.ended).toBeGreaterThan(1_000);
    await expectNoFailure('unclean', freshFrom, 40);
  }, 120_000);

  test('where topics are made again and requests name them, what is sent once the producer knows is stored once and in order', async () => {
    const { coverage } = await expectNoFailure('by-name', 0, 60);
    expect(coverage.counts.get('event: topic-recreated')).toBeGreaterThan(50);
    await expectNoFailure('by-name', freshFrom, 40);
  }, 120_000);
});
