import type { OutsideCallers } from '../outside-callers.ts';
import type { Runtime, TimerHandle } from '../runtime.ts';

/** Something that wants to be called at a time. Lives in at most one queue, at one place. */
export abstract class Deadline {
  /** On the runtime's monotonic clock. Changed only by the queue. */
  atMs = 0;
  /** Place in the heap; -1 while it is in none. */
  heapIndex = -1;
  abstract onDue(nowMs: number): void;
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
 * All deadlines of a producer behind one timer. A binary heap in which each entry knows its place, so that a settled batch
 * leaves it at once: with one entry a batch and 120 s each, entries that only expire would hold memory for two minutes.
 */
export class DeadlineQueue {
  readonly #runtime: Runtime;
  readonly #outsideCallers: OutsideCallers;
  readonly #heap: Deadline[] = [];
  #timer: TimerHandle | null = null;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(runtime: Runtime, outsideCallers: OutsideCallers) {
    this.#runtime = runtime;
    this.#outsideCallers = outsideCallers;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Adds `deadline`, or moves it when it is already here. */
  set(deadline: Deadline, atMs: number): void {
    if (this.#closed) return;
    if (deadline.heapIndex >= 0) this.remove(deadline);
    deadline.atMs = atMs;
    deadline.heapIndex = this.#heap.length;
    this.#heap.push(deadline);
    this.#siftUp(deadline.heapIndex);
    if (atMs < this.#timerAtMs) this.#arm(atMs);
  }

  remove(deadline: Deadline): void {
    const index = deadline.heapIndex;
    if (index < 0) return;
    deadline.heapIndex = -1;
    const last = this.#heap.pop()!;
    if (last === deadline) {
      if (this.#heap.length === 0) this.#disarm();
      return;
    }
    this.#heap[index] = last;
    last.heapIndex = index;
    this.#siftUp(index);
    this.#siftDown(last.heapIndex);
  }

  close(): void {
    this.#closed = true;
    for (const deadline of this.#heap) deadline.heapIndex = -1;
    this.#heap.length = 0;
    this.#disarm();
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
    for (let head = this.#heap[0]; head !== undefined && head.atMs <= nowMs; head = this.#heap[0]) {
      this.remove(head);
      head.onDue(nowMs);
    }
    const next = this.#heap[0];
    if (next !== undefined && !this.#closed && next.atMs < this.#timerAtMs) this.#arm(next.atMs);
  };

  #siftUp(from: number): void {
    const heap = this.#heap;
    const entry = heap[from]!;
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex]!;
      if (parent.atMs <= entry.atMs) break;
      heap[index] = parent;
      parent.heapIndex = index;
      index = parentIndex;
    }
    heap[index] = entry;
    entry.heapIndex = index;
  }

  #siftDown(from: number): void {
    const heap = this.#heap;
    const entry = heap[from]!;
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= heap.length) break;
      const right = heap[childIndex + 1];
      if (right !== undefined && right.atMs < heap[childIndex]!.atMs) childIndex++;
      const child = heap[childIndex]!;
      if (child.atMs >= entry.atMs) break;
      heap[index] = child;
      child.heapIndex = index;
      index = childIndex;
    }
    heap[index] = entry;
    entry.heapIndex = index;
  }
}
