import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Guardian } from '../guardian.ts';
import type { BrokerSignal, LastingCommand } from './programs.ts';

/** `frozen` is a process that got SIGSTOP: its sockets stay open, and nothing answers. */
export type BrokerState = 'stopped' | 'running' | 'frozen';

export interface BrokerProcessOptions {
  readonly brokerId: number;
  /** Holds `server.properties`; the broker's output goes to `broker.out` in it. */
  readonly folder: string;
  readonly command: LastingCommand;
  readonly guardian: Guardian;
}

const logLines = 30;

/** One broker's JVM. */
export class BrokerProcess {
  readonly brokerId: number;
  readonly #options: BrokerProcessOptions;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #state: BrokerState = 'stopped';

  constructor(options: BrokerProcessOptions) {
    this.brokerId = options.brokerId;
    this.#options = options;
  }

  get state(): BrokerState {
    return this.#state;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (this.#state === 'stopped' || pid === undefined) throw new Error(`Broker ${this.brokerId} is not running.`);
    return pid;
  }

  start(): void {
    this.#expect('stopped', 'start');
    const { folder, command, guardian, brokerId } = this.#options;
    const output = openSync(join(folder, 'broker.out'), 'a');
    // Its own process group: Ctrl-C in the terminal must not end brokers before the test has read what it wants.
    const child = spawn(command.program, command.args, {
      cwd: folder,
      detached: true,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    child.unref();
    const name = `broker-${brokerId}`;
    if (child.pid !== undefined) guardian.watch(name, child.pid, command.container);
    this.#child = child;
    this.#state = 'running';
    this.#ended = new Promise((resolve) => {
      const onEnd = () => {
        if (this.#child === child) this.#state = 'stopped';
        guardian.forget(name);
        resolve();
      };
      child.once('exit', onEnd);
      child.once('error', onEnd);
    });
  }

  /** SIGSTOP: the process stays, its sockets stay open, nothing is answered. */
  freeze(): void {
    this.#expect('running', 'freeze');
    this.#signal('SIGSTOP');
    this.#state = 'frozen';
  }

  resume(): void {
    this.#expect('frozen', 'resume');
    this.#signal('SIGCONT');
    this.#state = 'running';
  }

  /** SIGKILL. Resolves when the process is gone. */
  async kill(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#signal('SIGKILL');
    await this.#waitForEnd();
  }

  /** SIGTERM, so that the broker hands over leadership and writes its snapshots; SIGKILL when that takes too long. */
  async stop(timeoutMs: number): Promise<void> {
    if (this.#state === 'stopped') return;
    if (this.#state === 'frozen') this.resume();
    this.#signal('SIGTERM');
    const timer = setTimeout(() => this.#signal('SIGKILL'), timeoutMs);
    await this.#waitForEnd();
    clearTimeout(timer);
  }

  /** Throws, with the end of the broker's own output, when the process has ended. */
  assertAlive(): void {
    if (this.#state !== 'stopped') return;
    const file = join(this.#options.folder, 'broker.out');
    const output = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-logLines).join('\n') : '';
    throw new Error(`Broker ${this.brokerId} ended:\n${output}`);
  }

  async #waitForEnd(): Promise<void> {
    this.#child?.ref();
    await this.#ended;
  }

  #signal(signal: BrokerSignal): void {
    this.#options.command.signal(this.pid, signal);
  }

  #expect(state: BrokerState, action: string): void {
    if (this.#state !== state)
      throw new Error(`Can't ${action} broker ${this.brokerId}: it is ${this.#state}, not ${state}.`);
  }
}
