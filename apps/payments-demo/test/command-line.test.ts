import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

const main = join(import.meta.dirname, '../src/main.ts');

function start(...args: string[]): ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream } {
  const child = spawn(process.execPath, ['--conditions=@sendonce/source', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return child as typeof child & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream };
}

/** One of the commands that are started without arguments, or with wrong ones. */
async function runFile(file: string, ...args: string[]): Promise<{ status: number | null; stderr: string }> {
  const path = join(import.meta.dirname, '../src', file);
  const child = spawn(process.execPath, ['--conditions=@sendonce/source', path, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { status: child.exitCode, stderr };
}

async function run(...args: string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = start(...args);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { status: child.exitCode, stdout, stderr };
}

describe('the demo as a command', () => {
  it('shows every scene, plainly when piped, and ends with status 0', async () => {
    const { status, stdout, stderr } = await run('--fast');
    expect(stderr).toBe('');
    expect(stdout).toMatch(/Scene 0 .*Scene 9 .*All \d+ checks held\.\n$/s);
    expect(stdout).not.toContain('\u001b');
    expect(status).toBe(0);
  });

  it('speaks JSON, one object a line', async () => {
    const { stdout } = await run('--json', '--scene', '1');
    const items = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(items[0]).toMatchObject({ type: 'scene', scene: 1 });
    expect(items.at(-1)).toMatchObject({ type: 'end', failedChecks: [] });
  });

  it.each([
    [['--scene', '99'], /--scene takes a whole number from 0 to 9/],
    [['--sede', '1'], /--sede/],
    [['--kafka', 'nowhere'], /--kafka takes HOST:PORT/],
  ])('%j is answered with what to write, on stderr, and status 2', async (args, message) => {
    const { status, stdout, stderr } = await run(...args);
    expect(stderr).toMatch(message);
    expect(stderr).toContain('Usage: npm run demo');
    expect([status, stdout]).toEqual([2, '']);
  });

  it('--help lists the scenes', async () => {
    const { status, stdout } = await run('--help');
    expect(stdout).toMatch(/8 {2}The storm/);
    expect(status).toBe(0);
  });

  it('a broker that does not answer is a sentence, not a stack trace, and status 1', async () => {
    const { status, stderr } = await run('--kafka', '127.0.0.1:1');
    expect(stderr).toMatch(/could not go on: .*127\.0\.0\.1:1/s);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(status).toBe(1);
  });

  it('stops at once on Ctrl-C', async () => {
    const child = start('--scene', '0');
    const closed = once(child, 'close');
    const stderr = text(child.stderr);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    await closed;
    expect(await stderr).toBe('\nStopped.\n');
    expect(child.exitCode).toBe(130);
  });

  it('ends quietly when its reader has seen enough', async () => {
    const child = start('--fast');
    const closed = once(child, 'close');
    const stderr = text(child.stderr);
    await once(child.stdout, 'data');
    (child.stdout as NodeJS.ReadableStream & { destroy: () => void }).destroy();
    await closed;
    expect(await stderr).toBe('');
  });
});

describe('the other commands', () => {
  it('the soak stops on Ctrl-C while its services start, with a sentence', async () => {
    const child = spawn(
      process.execPath,
      ['--conditions=@sendonce/source', join(import.meta.dirname, '../src/soak/main.ts')],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const closed = once(child, 'close');
    const stderr = text(child.stderr);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    expect(await closed).toEqual([130, null]);
    expect(await stderr).toBe('Stopped before the first payment.\n');
  });

  it.each([
    ['web.ts', ['--port', '9'], /takes no arguments.*PORT/s],
    ['real.ts', ['--help'], /takes no arguments.*KAFKA_BROKERS/s],
    ['traces.ts', ['extra'], /takes no arguments/],
    ['soak/main.ts', ['--bogus'], /^Usage: npm run soak/],
    ['soak/main.ts', ['--minutes', 'ten'], /^Usage: npm run soak/],
  ])('%s with %j says what there is, and ends with status 2', async (file, args, message) => {
    const { status, stderr } = await runFile(file, ...args);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(status).toBe(2);
  });
});
