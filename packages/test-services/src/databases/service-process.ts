import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Guardian } from '../guardian.ts';
import type { Account } from './account.ts';

export interface ServiceCommand {
  /** Names its output and its pid file; one of its kind per folder. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Where its output goes. */
  readonly folder: string;
  readonly account?: Account;
  readonly guardian: Guardian;
  /** Whether it answers yet. */
  answers(): Promise<boolean>;
}

const READY_POLL_MS = 20;
const READY_TIMEOUT_MS = 60_000;
const OUTPUT_LINES = 30;

/** One process of a service, which can be ended and started again. */
export class ServiceProcess {
  readonly #command: ServiceCommand;
  #child: ChildProcess | null = null;
  #ended: Promise<void> = Promise.resolve();

  constructor(command: ServiceCommand) {
    this.#command = command;
  }

  /** Resolves when it answers. Rejects, with the end of its own output, when it ends before. */
  async start(): Promise<void> {
    if (this.#child !== null) throw new Error(`${this.#command.name} is running already.`);
    const { name, program, args, folder, account = {}, guardian, answers } = this.#command;
    const output = openSync(this.#outputFile, 'a');
    // Its own process group: Ctrl-C in the terminal must not end it before the test has read what it wants.
    const child = spawn(program, args, { cwd: folder, detached: true, stdio: ['ignore', output, output], ...account });
    closeSync(output);
    child.unref();
    this.#child = child;
    if (child.pid !== undefined) guardian.watch(name, child.pid);
    this.#ended = new Promise((resolve) => {
      const onEnd = () => {
        this.#child = null;
        guardian.forget(name);
        resolve();
      };
      child.once('exit', onEnd);
      child.once('error', onEnd);
    });
    const deadlineMs = performance.now() + READY_TIMEOUT_MS;
    while (!(await answers())) {
      if (this.#child === null) throw new Error(`${name} ended:\n${this.#lastOutput()}`);
      if (performance.now() > deadlineMs) {
        await this.end('SIGKILL');
        throw new Error(`${name} does not answer:\n${this.#lastOutput()}`);
      }
      await delay(READY_POLL_MS);
    }
  }

  /** Sends `signal` and resolves when the process has ended. Nothing happens when it is not running. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child === null) return;
    this.#child.ref();
    this.#child.kill(signal);
    await this.#ended;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.#command.name} is not running.`);
    return pid;
  }

  get #outputFile(): string {
    return join(this.#command.folder, `${this.#command.name}.out`);
  }

  #lastOutput(): string {
    if (!existsSync(this.#outputFile)) return '(no output)';
    return readFileSync(this.#outputFile, 'utf8').split('\n').slice(-OUTPUT_LINES).join('\n');
  }
}
