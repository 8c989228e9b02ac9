import type { OutsideCallers } from '../outside-callers.ts';
import type { Runtime, TimerHandle } from '../runtime.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import { DeadlineLine } from './deadline-line.ts';

/** Something that wants to be called at a time. Lives in at most one queue, at one place. */
export abstract class Deadline {
  /** On the runtime's monotonic clock. Changed only by the queue. */
  atMs = 0;
  /** Place in the heap; -1 while it is in none. */
  heapIndex = -1;
  /** Place in the line; -1 while it is in none. */
  linePlace = -1;
  abstract onDue(nowMs: number): void;

  /** Whether it is in a queue. */
  get isSet(): boolean {
    return this.linePlace >= 0 || this.heapIndex >= 0;
  }
}

/** A deadline that calls a function: for the few that are not part of a hot path. */
export class CallbackDeadline extends Deadline {
  readonly onDue: (nowMs: number) => void;
  constructor(onDue: (nowMs: number) => void) {
    super();
    this.onDue = onDue;
  }
}

/**
 * All deadlines of a producer behind one timer. Each entry knows its place, so that a settled batch leaves at once: with one entry a
 * batch and 120 s each, entries that only expire would hold memory for two minutes.
 */
export class DeadlineQueue {
  readonly #runtime: Runtime;
  readonly #outsideCallers: OutsideCallers;
  readonly #line = new DeadlineLine();
  readonly #heap = new DeadlineHeap();
  #timer: TimerHandle | null = null;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(runtime: Runtime, outsideCallers: OutsideCallers) {
    this.#runtime = runtime;
    this.#outsideCallers = outsideCallers;
  }

  get size(): number {
    return this.#line.size + this.#heap.size;
  }

  /** Adds `deadline`, or moves it when it is already here. */
  set(deadline: Deadline, atMs: number): void {
    if (this.#closed) return;
    this.#takeOut(deadline);
    deadline.atMs = atMs;
    if (this.#line.takes(atMs)) this.#line.add(deadline);
    else this.#heap.add(deadline);
    if (atMs < this.#timerAtMs) this.#arm(atMs);
  }

  remove(deadline: Deadline): void {
    if (!deadline.isSet) return;
    this.#takeOut(deadline);
    if (this.size === 0) this.#disarm();
  }

  close(): void {
    this.#closed = true;
    this.#line.clear();
    this.#heap.clear();
    this.#disarm();
  }

  #takeOut(deadline: Deadline): void {
    if (deadline.linePlace >= 0) this.#line.remove(deadline);
    else if (deadline.heapIndex >= 0) this.#heap.remove(deadline);
  }

  get #first(): Deadline | undefined {
    const inLine = this.#line.first;
    const inHeap = this.#heap.first;
    if (inLine === undefined || inHeap === undefined) return inLine ?? inHeap;
    return inHeap.atMs < inLine.atMs ? inHeap : inLine;
  }

  #arm(atMs: number): void {
    if (this.#timer !== null) this.#runtime.cancel(this.#timer);
    this.#timerAtMs = atMs;
    const delayMs = Math.max(0, atMs - this.#runtime.monotonicMs());
    this.#timer = this.#outsideCallers(() => this.#runtime.schedule(delayMs, this.#onTimer));
  }

  /** Nothing is waited for, so nothing may keep the process alive. */
  #disarm(): void {
    if (this.#timer !== null) this.#runtime.cancel(this.#timer);
    this.#timer = null;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }

  // While others are left the timer stays when its deadline goes: it fires for nothing now and then, which is cheaper than
  // moving it with each settled batch.
  readonly #onTimer = (): void => {
    this.#timer = null;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#runtime.monotonicMs();
    for (let first = this.#first; first !== undefined && first.atMs <= nowMs; first = this.#first) {
      this.remove(first);
      first.onDue(nowMs);
    }
    const next = this.#first;
    if (next !== undefined && !this.#closed && next.atMs < this.#timerAtMs) this.#arm(next.atMs);
  };
}
