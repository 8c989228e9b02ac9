import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type FuzzReport, fuzzOnce } from './fuzz-run.ts';
import { fuzzTargets } from './targets.ts';

// Gives damaged and hostile bytes to every decoder of bytes from outside, for a while, and reports what they answered.
//
//   npm run fuzz -- [--minutes 5] [--seed N]
//   npm run fuzz -- --seed N --target NAME --iteration I      one input again

/** No iteration takes nearly as long. */
const hangMs = 30_000;

interface WorkerMessage {
  readonly report?: FuzzReport;
  readonly failure?: string;
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
    target: { type: 'string' },
    iteration: { type: 'string' },
  },
});

function numberOf(name: string, text: string, isAllowed: (value: number) => boolean): number {
  const value = Number(text);
  if (text.trim() === '' || !isAllowed(value)) {
    console.error(`--${name} ${text} is not a number that is allowed there`);
    process.exit(2);
  }
  return value;
}

const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : numberOf('seed', values.seed, isWhole);

async function replay(targetName: string, iteration: number): Promise<void> {
  const targets = await fuzzTargets();
  const target = targets.find(({ name }) => name === targetName);
  if (target === undefined) {
    console.error(`--target ${targetName} is none of ${targets.map(({ name }) => name).join(', ')}`);
    process.exit(2);
  }
  const { input, outcome } = fuzzOnce(target, seed, iteration);
  console.log(`${outcome}: ${input.toString('hex')}`);
}

function lastIteration(progressPath: string): number | null {
  const bytes = readFileSync(progressPath);
  return bytes.length === 8 ? bytes.readDoubleBE(0) : null;
}

/** Ends the worker when its iteration does not change any more. */
function watch(worker: ChildProcess, progressPath: string): NodeJS.Timeout {
  let seen: number | null = null;
  return setInterval(() => {
    const iteration = lastIteration(progressPath);
    if (iteration !== null && iteration === seen) {
      console.error(`Hangs for ${hangMs} ms`);
      worker.kill('SIGKILL');
    }
    seen = iteration;
  }, hangMs);
}

async function run(minutes: number): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'sendonce-fuzz-'));
  const progressPath = join(folder, 'iteration');
  const worker = fork(new URL('worker.ts', import.meta.url), [String(seed), String(minutes * 60_000), progressPath], {
    execArgv: ['--conditions=@sendonce/source'],
  });
  const watchdog = watch(worker, progressPath);
  let message: WorkerMessage = {};
  worker.on('message', (received) => {
    message = received as WorkerMessage;
  });
  const how = await new Promise<string>((resolve) => {
    worker.on('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  clearInterval(watchdog);
  const iteration = lastIteration(progressPath);
  rmSync(folder, { recursive: true });
  if (message.report !== undefined) {
    print(message.report);
    return true;
  }
  console.error(
    message.failure ?? `The worker ended (${how}) at iteration ${iteration} of seed ${seed}: replay it for each target`,
  );
  return false;
}

function print({ iterations, outcomes, peakMemoryBytes }: FuzzReport): void {
  console.log(`seed ${seed}: ${iterations} iterations, ${Object.keys(outcomes).length} targets, nothing found`);
  console.log(`largest resident set ${Math.round(peakMemoryBytes / 2 ** 20)} MiB`);
  for (const [target, counts] of Object.entries(outcomes)) {
    const sorted = Object.entries(counts).sort(([, one], [, other]) => other - one);
    console.log(`${target}: ${sorted.map(([outcome, count]) => `${outcome} ${count}`).join(', ')}`);
  }
}

if (values.target !== undefined && values.iteration !== undefined) {
  await replay(values.target, numberOf('iteration', values.iteration, isWhole));
} else {
  const isClean = await run(numberOf('minutes', values.minutes, (value) => value > 0 && value <= 24 * 60));
  process.exitCode = isClean ? 0 : 1;
}
