import type { Runtime, TimerHandle } from '../runtime.ts';
import { SeededRandom } from './seeded-random.ts';
import { SimulatedTask, TaskQueue } from './task-queue.ts';

export interface SimulatedRuntimeOptions {
  /** A whole number from 0 to 2^53 - 1. The same seed gives the same run, to the last step. */
  readonly seed: number;
  /** What the wall clock shows at the start, in milliseconds since 1970. Default: 2026-01-01T00:00:00Z. */
  readonly wallClockStartMs?: number;
  /**
   * In which order tasks run that are due at the same virtual time: `random` (drawn from the seed; the default), or `fifo`,
   * the order in which they were scheduled.
   */
  readonly ties?: 'random' | 'fifo';
  /**
   * After how many tasks the real event loop gets a turn, so that signals, messages and unhandled rejections come through.
   * Default 1024; 1 makes Node report a rejection that is handled a task too late.
   */
  readonly realTurnEverySteps?: number;
}

export interface RunOptions {
  /** Stop when the virtual monotonic clock would pass this; the clock then shows it. */
  readonly untilMs?: number;
  /** Stop as soon as this holds. Asked after each task. Running out of tasks before it holds is an error. */
  readonly until?: () => boolean;
  /** More tasks than this is an error that lists what is still scheduled. Default 1,000,000. */
  readonly maxSteps?: number;
}

/** The run did not come to where it should: too many steps, or nothing left to do. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError';
}

const defaultMaxSteps = 1_000_000;
const tasksShownInErrors = 10;

/**
 * A {@link Runtime} on virtual time (rules C17, M7). Nothing happens until it is driven: {@link run}, {@link advance} and
 * {@link settle} run one task after the other, and let every microtask drain before the next.
 *
 * What runs on it must take time, timers and chance from it alone. Promises are fine; real I/O and worker threads are not.
 */
export class SimulatedRuntime implements Runtime {
  readonly seed: number;
  readonly #queue = new TaskQueue();
  readonly #random: SeededRandom;
  readonly #ties: SeededRandom | null;
  readonly #forks = new Map<string, Runtime>();
  readonly #realTurnEverySteps: number;
  #nowMs = 0;
  #wallClockOffsetMs: number;
  #scheduled = 0;
  #steps = 0;
  #running = false;

  // Fields and not methods: whoever passes one of them on as a function gets what it expects, as with the platform's.
  readonly monotonicMs = (): number => this.#nowMs;

  readonly wallClockMs = (): number => Math.floor(this.#wallClockOffsetMs + this.#nowMs);

  readonly schedule = (delayMs: number, callback: () => void): TimerHandle =>
    this.#add(delayMs, callback, 'the runtime', 'timer');

  readonly cancel = (timer: TimerHandle): void => this.#queue.remove(timer as SimulatedTask);

  readonly endOfTurn = (callback: () => void): void => {
    this.#add(0, callback, 'the runtime', 'endOfTurn');
  };

  readonly random = (): number => this.#random.next();

  constructor({
    seed,
    wallClockStartMs = Date.UTC(2026, 0, 1),
    ties = 'random',
    realTurnEverySteps = 1024,
  }: SimulatedRuntimeOptions) {
    if (!Number.isSafeInteger(seed) || seed < 0) {
      throw new RangeError(`The seed must be a whole number from 0 to 2^53 - 1, not ${String(seed)}`);
    }
    this.seed = seed;
    this.#random = new SeededRandom(seed, '');
    this.#ties = ties === 'random' ? new SeededRandom(seed, 'ties') : null;
    this.#wallClockOffsetMs = wallClockStartMs;
    this.#realTurnEverySteps = realTurnEverySteps;
  }

  /** Tasks run so far. */
  get steps(): number {
    return this.#steps;
  }

  /** Timers and end-of-turn callbacks that wait. */
  get pendingTasks(): number {
    return this.#queue.size;
  }

  /** The tasks that would run next, in words: for messages and traces. */
  describePending(count = tasksShownInErrors): string[] {
    return this.#queue.first(count).map((task) => task.describe());
  }

  /**
   * The same clocks and tasks with a random stream of its own, so that a draw here doesn't shift what others draw.
   * The same name gives the same fork.
   */
  fork(name: string): Runtime {
    const known = this.#forks.get(name);
    if (known !== undefined) return known;
    const random = new SeededRandom(this.seed, `fork ${name}`);
    const fork: Runtime = {
      monotonicMs: this.monotonicMs,
      wallClockMs: this.wallClockMs,
      schedule: (delayMs, callback) => this.#add(delayMs, callback, name, 'timer'),
      cancel: this.cancel,
      endOfTurn: (callback) => void this.#add(0, callback, name, 'endOfTurn'),
      random: () => random.next(),
    };
    this.#forks.set(name, fork);
    return fork;
  }

  /** Lets time pass without running anything, as when the process is stopped: timers that fell due run late. */
  stall(durationMs: number): void {
    this.#nowMs += Math.max(0, durationMs);
  }

  /** Sets the wall clock forward (or back, with a negative number). The monotonic clock doesn't move. */
  moveWallClock(byMs: number): void {
    this.#wallClockOffsetMs += byMs;
  }

  /**
   * Runs tasks in the order of their times: all of them, or up to `untilMs`, or until `until()` holds.
   * Rejects with what a task threw, and with {@link SimulationError} when the end was not reached.
   */
  async run({ untilMs = Number.POSITIVE_INFINITY, until, maxSteps = defaultMaxSteps }: RunOptions = {}): Promise<void> {
    if (this.#running) throw new SimulationError('The simulated runtime is running already: await the run before.');
    this.#running = true;
    try {
      await new Promise<void>((resolve, reject) => this.#loop({ untilMs, until, maxSteps }, resolve, reject));
    } finally {
      this.#running = false;
    }
  }

  /** Runs everything that falls due within `durationMs`. */
  advance(durationMs: number): Promise<void> {
    return this.run({ untilMs: this.#nowMs + durationMs });
  }

  /** Runs everything that is due now, and what that makes due now. Time doesn't move. */
  settle(): Promise<void> {
    return this.run({ untilMs: this.#nowMs });
  }

  /** Runs until `promise` is settled, and returns its result. */
  async runUntilSettled<T>(promise: Promise<T>, options: Pick<RunOptions, 'untilMs' | 'maxSteps'> = {}): Promise<T> {
    let settled = false;
    const note = (): void => {
      settled = true;
    };
    promise.then(note, note);
    await this.run({ ...options, until: () => settled });
    if (!settled) {
      throw new SimulationError(`The promise was still pending at ${this.#nowMs} ms.`);
    }
    return promise;
  }

  #add(delayMs: number, callback: () => void, origin: string, kind: SimulatedTask['kind']): SimulatedTask {
    if (!Number.isFinite(delayMs)) throw new RangeError(`${origin} asked for a timer of ${delayMs} ms.`);
    const rank = this.#ties === null ? 0 : this.#ties.nextUint32();
    const task = new SimulatedTask(this.#nowMs + Math.max(0, delayMs), rank, this.#scheduled++, callback, origin, kind);
    this.#queue.add(task);
    return task;
  }

  // One task a `process.nextTick` callback, the next tick asked for from a microtask: Node runs ticks only when the microtask
  // queue is empty, however long the chains of promises in it are, so that every microtask of a task is done before the next
  // task. A `setImmediate` a task would do the same for ten times the price.
  #loop(
    { untilMs, until, maxSteps }: { untilMs: number; until: (() => boolean) | undefined; maxSteps: number },
    resolve: () => void,
    reject: (error: unknown) => void,
  ): void {
    const lastStep = this.#steps + maxSteps;
    const step = (): void => {
      try {
        if (until?.() === true || !this.#hasWork(untilMs, until !== undefined)) {
          afterRealTurn(resolve);
          return;
        }
        if (this.#steps >= lastStep) throw this.#tooManySteps(maxSteps);
        this.#runNext();
      } catch (error) {
        afterRealTurn(() => reject(error));
        return;
      }
      if (this.#steps % this.#realTurnEverySteps === 0) setImmediate(step);
      else queueMicrotask(nextTick);
    };
    const nextTick = (): void => process.nextTick(step);
    queueMicrotask(nextTick);
  }

  /** False at the end of the run; then the clock shows it. */
  #hasWork(untilMs: number, awaited: boolean): boolean {
    const next = this.#queue.peek();
    if (next !== undefined && next.dueMs <= untilMs) return true;
    if (untilMs !== Number.POSITIVE_INFINITY) this.#nowMs = Math.max(this.#nowMs, untilMs);
    else if (awaited) {
      throw new SimulationError(`Nothing is scheduled any more at ${this.#nowMs} ms, and the condition never held.`);
    }
    return false;
  }

  #runNext(): void {
    const task = this.#queue.peek()!;
    this.#queue.remove(task);
    // After a stall tasks are overdue: time doesn't go back for them.
    this.#nowMs = Math.max(this.#nowMs, task.dueMs);
    this.#steps++;
    task.callback();
  }

  #tooManySteps(maxSteps: number): SimulationError {
    const tasks = this.describePending().join('\n  ');
    return new SimulationError(
      `Not done after ${maxSteps} steps, at ${this.#nowMs} ms. ${this.#queue.size} tasks are scheduled, first:\n  ${tasks}`,
    );
  }
}

/** One turn of the real event loop, so that Node reports rejections that nobody handled before the caller goes on. */
function afterRealTurn(done: () => void): void {
  setImmediate(done);
}

/** A runtime on virtual time: with it a run is a pure function of its seed. */
export function createSimulatedRuntime(options: SimulatedRuntimeOptions): SimulatedRuntime {
  return new SimulatedRuntime(options);
}
