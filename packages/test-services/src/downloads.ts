import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheFolder } from './repository.ts';

const downloadTimeoutMs = 300_000;

export function hasJavaAndMaven(): boolean {
  const answers = (command: string, option: string) => spawnSync(command, [option], { stdio: 'ignore' }).status === 0;
  return answers('java', '-version') && answers('mvn', '-version');
}

/** Runs a command to its end. Rejects with the end of its output when it fails. */
export function run(command: string, args: string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: downloadTimeoutMs });
    let output = '';
    const keepTail = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4000);
    };
    child.stdout.on('data', keepTail);
    child.stderr.on('data', keepTail);
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(' ')} ended with ${code}:\n${output}`));
    });
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Takes the lock file, or waits while its owner is alive. Returns false when the wait ended because `isDone()`. */
async function lock(file: string, isDone: () => boolean): Promise<boolean> {
  const deadline = performance.now() + downloadTimeoutMs;
  while (!isDone()) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      return true;
    } catch {
      const owner = Number(existsSync(file) ? readFileSync(file, 'utf8') : 0);
      if (owner > 0 && !isAlive(owner)) rmSync(file, { force: true });
      if (performance.now() > deadline)
        throw new Error(`Waited ${downloadTimeoutMs} ms for the process that owns ${file}.`);
      await sleep(100);
    }
  }
  return false;
}

/**
 * A folder of the cache, which the first call fills; later ones, in whatever process, find it. `fill` gets an empty folder, which takes its place
 * only when it is complete.
 */
export async function fetchOnce(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cacheFolder, name);
  const isDone = () => existsSync(folder);
  if (isDone()) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const lockFile = `${folder}.lock`;
  if (!(await lock(lockFile, isDone))) return folder;
  const unfinished = `${folder}.unfinished`;
  try {
    if (isDone()) return folder;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    await fill(unfinished);
    renameSync(unfinished, folder);
  } finally {
    rmSync(lockFile, { force: true });
  }
  return folder;
}
