import { parentPort } from 'node:worker_threads';
import { type RangeMessage, runRange, type SeedRange } from './seed-range.ts';

parentPort!.on('message', async (range: SeedRange) => {
  const { coverage, ...result } = await runRange(range);
  parentPort!.postMessage({ ...result, counts: [...coverage.counts] } satisfies RangeMessage);
});
