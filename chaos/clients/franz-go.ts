import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { cacheFolder } from '@sendonce/test-services';
import { type ChaosClient, type ClientSetup, closeInTime } from './chaos-client.ts';

const buildTimeoutMs = 240_000;

async function build(): Promise<string> {
  const binary = join(cacheFolder, 'franz-go-chaos');
  await promisify(execFile)('go', ['build', '-mod=mod', '-o', binary, '.'], {
    cwd: join(import.meta.dirname, 'franz-go'),
    timeout: buildTimeoutMs,
  });
  return binary;
}

/** A Go program that is told `ID PARTITION VALUE`, a line a record, and answers `ID` or `ID ERROR`. */
class GoProducer implements ChaosClient {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>();
  #nextId = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    createInterface({ input: child.stdout! }).on('line', (line) => this.#settle(line));
  }

  send(partition: number, value: string): Promise<void> {
    const id = this.#nextId++;
    const settled = Promise.withResolvers<void>();
    this.#waiting.set(id, settled);
    this.#child.stdin!.write(`${id} ${partition} ${value}\n`);
    return settled.promise;
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.stdin!.end();
    await closeInTime(ended);
    this.#child.kill('SIGKILL');
  }

  #settle(line: string): void {
    const [id = '', ...error] = line.split(' ');
    const settled = this.#waiting.get(Number(id));
    this.#waiting.delete(Number(id));
    if (error.length === 0) settled?.resolve();
    else settled?.reject(new Error(error.join(' ')));
  }
}

/** Needs Go. */
export async function startFranzGo({ bootstrap, topic, requestTimeoutMs = 0 }: ClientSetup): Promise<ChaosClient> {
  const binary = await build();
  const args = [bootstrap.join(','), topic, `${requestTimeoutMs}`];
  return new GoProducer(spawn(binary, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
}
