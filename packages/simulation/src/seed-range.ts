import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Coverage } from './coverage.ts';
import type { Violation } from './evidence.ts';
import type { Focus, Mode } from './plan.ts';
import { runSeed, type SeedWatch } from './run-seed.ts';

export interface SeedRange {
  readonly from: number;
  readonly count: number;
  readonly mode: Mode;
  readonly focus?: Focus;
  /** Give up on the rest after so many failing seeds. */
  readonly failuresMax: number;
}

export interface FailedSeed {
  readonly seed: number;
  readonly violations: readonly Violation[];
}

export interface RangeResult {
  readonly seeds: number;
  readonly failed: readonly FailedSeed[];
  readonly coverage: Coverage;
  readonly records: number;
  readonly steps: number;
}

/** The part of a range's result that travels between threads. */
export type RangeMessage = Omit<RangeResult, 'coverage'> & { readonly counts: readonly (readonly [string, number])[] };

/** Runs the seeds one after the other, in this thread. `watch` makes what looks on, one for each. */
export async function runRange(
  { from, count, mode, focus = {}, failuresMax }: SeedRange,
  watch?: () => SeedWatch,
): Promise<RangeResult> {
  const coverage = new Coverage();
  const failed: FailedSeed[] = [];
  let records = 0;
  let steps = 0;
  let seeds = 0;
  for (; seeds < count && failed.length < failuresMax; seeds++) {
    const result = await runSeed({
      seed: from + seeds,
      mode,
      focus,
      ...(watch === undefined ? {} : { watch: watch() }),
    });
    coverage.merge(result.coverage.counts);
    records += result.records;
    steps += result.steps;
    if (result.violations.length > 0) failed.push({ seed: result.seed, violations: result.violations });
  }
  return { seeds, failed, coverage, records, steps };
}

/** Small enough that every thread has work to the end, large enough that handing it out costs nothing. */
const chunkSeeds = 100;

/** Runs the seeds on all cores. `onProgress` hears how many are done. */
export async function runRangeInThreads(
  range: SeedRange,
  onProgress: (seeds: number) => void = () => {},
): Promise<RangeResult> {
  const coverage = new Coverage();
  const failed: FailedSeed[] = [];
  let records = 0;
  let steps = 0;
  let seeds = 0;
  let next = range.from;
  const end = range.from + range.count;
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL('./seed-thread.ts', import.meta.url));
    try {
      while (next < end && failed.length < range.failuresMax) {
        const from = next;
        const count = Math.min(chunkSeeds, end - from);
        next += count;
        const result = await ask(worker, { ...range, from, count });
        coverage.merge(result.counts);
        failed.push(...result.failed);
        records += result.records;
        steps += result.steps;
        seeds += result.seeds;
        onProgress(seeds);
      }
    } finally {
      await worker.terminate();
    }
  };
  const threads = Math.min(availableParallelism(), Math.ceil(range.count / chunkSeeds));
  await Promise.all(Array.from({ length: threads }, work));
  failed.sort((one, other) => one.seed - other.seed);
  return { seeds, failed, coverage, records, steps };
}

function ask(worker: Worker, range: SeedRange): Promise<RangeMessage> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (message: RangeMessage) => {
      worker.off('error', reject);
      resolve(message);
    });
    worker.postMessage(range);
  });
}
