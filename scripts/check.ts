import { spawn } from 'node:child_process';
import { repositoryRoot } from './workspaces.ts';

/** `npm run check`: every check that is not a test. All of them run, whatever fails; the end says which failed and what to do. */
interface Step {
  readonly script: string;
  readonly fix: string;
  /** A step that must have succeeded first. */
  readonly after?: string;
}

const steps: readonly Step[] = [
  { script: 'build', fix: 'mend the type errors above, the first one first' },
  { script: 'lint', fix: '"npm run format" mends what can be mended by itself' },
  { script: 'typecheck', fix: 'mend the type errors above' },
  { script: 'unused', fix: 'remove what nobody uses, or list the dependency where it is used' },
  { script: 'boundaries', fix: 'design section 2 and scripts/boundaries/rules.ts say who may import whom' },
  { script: 'examples', fix: 'mend the example in the Markdown file' },
  { script: 'api', fix: '"npm run api -- --update", read the difference, commit it', after: 'build' },
  { script: 'publish-check', fix: 'the package named above would not work for those who install it', after: 'build' },
];

/** The machines this runs on have two cores, and most steps keep one busy. */
const atOnce = 2;

interface Outcome {
  readonly succeeded: boolean;
  readonly output: string;
  readonly seconds: number;
}

function run(script: string): Promise<Outcome> {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn('npm', ['run', '--silent', script], {
      cwd: repositoryRoot,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', NO_COLOR: '1' },
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    const end = (succeeded: boolean, extra = '') =>
      resolve({
        succeeded,
        output: Buffer.concat(chunks).toString() + extra,
        seconds: (performance.now() - started) / 1000,
      });
    child.on('error', (error) => end(false, error.message));
    child.on('close', (code) => end(code === 0));
  });
}

const outcomes = new Map(steps.map(({ script }) => [script, Promise.withResolvers<Outcome>()]));
const failed: Step[] = [];
const queue = [...steps];

async function work(): Promise<void> {
  for (let step = queue.shift(); step !== undefined; step = queue.shift()) {
    const needed = step.after === undefined ? undefined : await outcomes.get(step.after)!.promise;
    const outcome =
      needed?.succeeded === false
        ? { succeeded: false, output: `not run: ${step.after} failed\n`, seconds: 0 }
        : await run(step.script);
    if (!outcome.succeeded) failed.push(step);
    console.log(`${outcome.succeeded ? 'ok    ' : 'FAILED'} ${step.script} (${outcome.seconds.toFixed(1)} s)`);
    if (!outcome.succeeded) console.log(outcome.output.replaceAll(/^/gm, '       '));
    outcomes.get(step.script)!.resolve(outcome);
  }
}

await Promise.all(Array.from({ length: atOnce }, work));
if (failed.length > 0) {
  console.log(`\n${failed.length} of ${steps.length} checks failed:`);
  for (const { script, fix } of failed) console.log(`  npm run ${script}: ${fix}`);
  process.exitCode = 1;
} else {
  console.log(`all ${steps.length} checks passed`);
}
