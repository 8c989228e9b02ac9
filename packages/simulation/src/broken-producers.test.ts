import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { type BrokenProducer, brokenProducers } from './broken-producers.ts';
import type { FailedSeed, SeedRange } from './seed-range.ts';

interface Outcome {
  readonly seeds: number;
  readonly failed: readonly FailedSeed[];
}

/** Runs seeds in a thread of its own, in which the sources are loaded with the patches on. */
function simulate(broken: BrokenProducer, seeds: number): Promise<Outcome> {
  const range: SeedRange = { from: 0, count: seeds, mode: 'clean', focus: broken.focus ?? {}, failuresMax: 1 };
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./broken-thread.ts', import.meta.url), {
      workerData: { broken, range },
      execArgv: ['--conditions=@sendonce/source'],
    });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

describe('the checker can fail: it notices when', () => {
  test.each(brokenProducers)('$rule: $name', async (broken) => {
    const { seeds, failed } = await simulate(broken, broken.seedsMax);
    expect(failed.length, `${seeds} seeds ran, and none failed`).toBe(1);
    const properties = failed[0]!.violations.map(({ property }) => property);
    console.log(`"${broken.name}" is caught by seed ${failed[0]!.seed}: ${[...new Set(properties)].join('; ')}`);
  });

  test('at least ten ways to break it are tried', () => {
    expect(new Set(brokenProducers.map(({ name }) => name)).size).toBeGreaterThanOrEqual(10);
  });
});

test('the producer as it is passes where the broken ones were caught', async () => {
  const focused = brokenProducers.filter(({ focus }) => focus !== undefined);
  expect(focused.length).toBeGreaterThan(0);
  for (const { name, rule, focus } of focused) {
    const { failed } = await simulate({ name, rule, focus: focus!, patches: [], seedsMax: 0 }, 8);
    expect(failed).toEqual([]);
  }
});

test('a patch that no longer fits its file is an error', async () => {
  const stale: BrokenProducer = {
    name: 'stale',
    rule: 'none',
    seedsMax: 1,
    patches: [{ file: 'producer-core/src/record.ts', find: 'text that is not there', replace: '' }],
  };
  await expect(simulate(stale, 1)).rejects.toThrow(/"stale" no longer fits producer-core\/src\/record\.ts: 0 places/);
});
