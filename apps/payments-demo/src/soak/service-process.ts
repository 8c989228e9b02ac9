import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Measure {
  /** After a garbage collection. */
  readonly heapBytes: number;
  readonly handles: number;
}

/** A machine that does much else at the same time takes long to start a process. */
const startTimeoutMs = 180_000;
const pollMs = 50;
const outputKept = 4_000;

/** A process of the payment system, to be killed and started again on the same port. */
export class ServiceProcess {
  readonly name: string;
  readonly url: string;
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | null = null;
  #output = '';

  constructor(name: string, port: number, environment: Readonly<Record<string, string>>) {
    this.name = name;
    this.url = `http://127.0.0.1:${port}`;
    this.#environment = { ...environment, PORT: String(port) };
  }

  /** Resolves when it is ready. One that gives up because something it needs is down is started again, as an orchestrator would. */
  async start(): Promise<void> {
    const deadlineMs = performance.now() + startTimeoutMs;
    while (!(await this.isReady())) {
      if (this.#child === null) this.#spawn();
      if (performance.now() > deadlineMs) throw new Error(`${this.name} does not get ready:\n${this.#output}`);
      await sleep(pollMs);
    }
  }

  async isReady(): Promise<boolean> {
    try {
      const response = await fetch(`${this.url}/readyz`);
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  }

  /** Resolves with its exit status when it has ended. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const child = this.#child;
    if (child === null) return null;
    const ended = once(child, 'exit');
    child.kill(signal);
    const [status] = (await ended) as [number | null];
    return status;
  }

  async measure(): Promise<Measure> {
    const child = this.#child;
    if (child === null) throw new Error(`${this.name} is not running.`);
    const answer = once(child, 'message');
    child.send('measure');
    return (await answer)[0] as Measure;
  }

  /** The end of what it wrote. */
  get output(): string {
    return this.#output;
  }

  #spawn(): void {
    const child = fork(join(import.meta.dirname, 'measured-service.ts'), [], {
      // Its own process group: Ctrl-C in the terminal is for the soak, which ends its processes when their work is done.
      detached: true,
      env: { ...process.env, ...this.#environment },
      execArgv: ['--conditions=@sendonce/source', '--disable-warning=TimeoutNegativeWarning', '--expose-gc'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    const keep = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-outputKept);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.once('exit', () => {
      if (this.#child === child) this.#child = null;
    });
  }
}
