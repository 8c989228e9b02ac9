import { parseArgs } from 'node:util';
import type { Focus, Mode, ProfileName } from './plan.ts';
import { describeCoverage, describeFailure, describeResult } from './report.ts';
import { runSeed } from './run-seed.ts';
import { runRangeInThreads } from './seed-range.ts';

const usage = `npm run sim -- [options]
  --seeds N            how many seeds to run (default 2000)
  --from N             the first one (default 0)
  --seed N             only this one; its story too when it fails
  --trace              with --seed: its story in any case
  --profile NAME       tutorial or kafka-4 (default: drawn from the seed)
  --mode NAME          clean (default); unclean: replicas that are behind may lead; by-name: topics made
                       again, and requests that say their names only
  --failures N         stop after so many failing seeds (default 10)`;

function wholeNumber(name: string, given: string): number {
  const value = Number(given);
  if (given === '' || !Number.isSafeInteger(value) || value < 0)
    throw new Error(`--${name} must be a whole number, not "${given}"`);
  return value;
}

function oneOf<T extends string>(name: string, given: string, names: readonly T[]): T {
  const found = names.find((each) => each === given);
  if (found === undefined) throw new Error(`--${name} must be ${names.join(' or ')}, not "${given}"`);
  return found;
}

const focusOn = (profile: ProfileName | undefined): Focus => (profile === undefined ? {} : { profile });

async function replay(seed: number, mode: Mode, profile: ProfileName | undefined, traced: boolean): Promise<boolean> {
  const { violations, trace } = await runSeed({ seed, mode, focus: focusOn(profile), traced: true });
  if (traced || violations.length > 0) console.log(trace.join('\n'));
  console.log(
    violations.length === 0 ? `seed ${seed}: every promise held` : describeFailure({ seed, violations }, mode, profile),
  );
  return violations.length === 0;
}

async function runMany(
  from: number,
  count: number,
  failuresMax: number,
  mode: Mode,
  profile: ProfileName | undefined,
): Promise<boolean> {
  const startMs = performance.now();
  let shown = 0;
  const result = await runRangeInThreads({ from, count, mode, focus: focusOn(profile), failuresMax }, (seeds) => {
    if (seeds - shown < 5000) return;
    shown = seeds;
    console.log(`${seeds} seeds done`);
  });
  for (const failure of result.failed) console.log(`\n${describeFailure(failure, mode, profile)}`);
  console.log(describeCoverage(result.coverage, mode));
  console.log(`\n${describeResult(result, (performance.now() - startMs) / 1000)}`);
  return result.failed.length === 0;
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '2000' },
      from: { type: 'string', default: '0' },
      seed: { type: 'string' },
      trace: { type: 'boolean', default: false },
      profile: { type: 'string' },
      mode: { type: 'string', default: 'clean' },
      failures: { type: 'string', default: '10' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(usage);
    return true;
  }
  const mode = oneOf('mode', values.mode, ['clean', 'unclean', 'by-name']);
  const profile = values.profile === undefined ? undefined : oneOf('profile', values.profile, ['tutorial', 'kafka-4']);
  if (values.seed !== undefined) return await replay(wholeNumber('seed', values.seed), mode, profile, values.trace);
  return await runMany(
    wholeNumber('from', values.from),
    wholeNumber('seeds', values.seeds),
    Math.max(1, wholeNumber('failures', values.failures)),
    mode,
    profile,
  );
}

try {
  if (!(await main())) process.exitCode = 1;
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 2;
}
