import { openSync, writeSync } from 'node:fs';
import { fuzz } from './fuzz-run.ts';
import { fuzzTargets } from './targets.ts';

// Its own process, so that a decoder that hangs or takes the process down is seen from outside, and at which iteration.
const [seedArgument, millisecondsArgument, progressPath] = process.argv.slice(2);
const seed = Number(seedArgument);
const endsAtMs = performance.now() + Number(millisecondsArgument);
const progress = openSync(progressPath!, 'w');
const cell = Buffer.alloc(8);

try {
  const report = await fuzz({
    targets: await fuzzTargets(),
    seed,
    isOver: () => performance.now() >= endsAtMs,
    onIteration: (iteration) => {
      cell.writeDoubleBE(iteration);
      writeSync(progress, cell, 0, cell.length, 0);
    },
  });
  process.send!({ report });
} catch (error) {
  process.send!({ failure: error instanceof Error ? error.message : String(error) });
}
