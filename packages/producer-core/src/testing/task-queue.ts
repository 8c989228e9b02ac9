/** Something to run at a virtual time. */
export class SimulatedTask {
  readonly dueMs: number;
  /** Breaks ties between tasks that are due at the same time. */
  readonly rank: number;
  /** Breaks the ties that `rank` leaves: the order of the calls. */
  readonly order: number;
  readonly callback: () => void;
  /** Who scheduled it, and how: for messages. */
  readonly origin: string;
  readonly kind: 'timer' | 'endOfTurn';
  /** Place in the heap; -1 once it ran or was cancelled. */
  heapIndex = -1;

  constructor(
    dueMs: number,
    rank: number,
    order: number,
    callback: () => void,
    origin: string,
    kind: SimulatedTask['kind'],
  ) {
    this.dueMs = dueMs;
    this.rank = rank;
    this.order = order;
    this.callback = callback;
    this.origin = origin;
    this.kind = kind;
  }

  describe(): string {
    const name = this.callback.name === '' ? 'anonymous' : this.callback.name;
    return `${this.kind} "${name}" of ${this.origin} due at ${this.dueMs} ms`;
  }
}

function isBefore(one: SimulatedTask, other: SimulatedTask): boolean {
  if (one.dueMs !== other.dueMs) return one.dueMs < other.dueMs;
  if (one.rank !== other.rank) return one.rank < other.rank;
  return one.order < other.order;
}

/** A binary heap in which each task knows its place, so that cancelling frees it at once. */
export class TaskQueue {
  readonly #heap: SimulatedTask[] = [];

  get size(): number {
    return this.#heap.length;
  }

  peek(): SimulatedTask | undefined {
    return this.#heap[0];
  }

  add(task: SimulatedTask): void {
    this.#heap.push(task);
    this.#siftUp(task, this.#heap.length - 1);
  }

  remove(task: SimulatedTask): void {
    const index = task.heapIndex;
    if (index < 0) return;
    task.heapIndex = -1;
    const last = this.#heap.pop()!;
    if (last === task) return;
    this.#siftUp(last, index);
    this.#siftDown(last, last.heapIndex);
  }

  /** The first tasks in the order in which they would run. */
  first(count: number): SimulatedTask[] {
    return [...this.#heap].sort((one, other) => (isBefore(one, other) ? -1 : 1)).slice(0, count);
  }

  #siftUp(task: SimulatedTask, from: number): void {
    const heap = this.#heap;
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex]!;
      if (!isBefore(task, parent)) break;
      heap[index] = parent;
      parent.heapIndex = index;
      index = parentIndex;
    }
    heap[index] = task;
    task.heapIndex = index;
  }

  #siftDown(task: SimulatedTask, from: number): void {
    const heap = this.#heap;
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= heap.length) break;
      const right = heap[childIndex + 1];
      if (right !== undefined && isBefore(right, heap[childIndex]!)) childIndex++;
      const child = heap[childIndex]!;
      if (!isBefore(child, task)) break;
      heap[index] = child;
      child.heapIndex = index;
      index = childIndex;
    }
    heap[index] = task;
    task.heapIndex = index;
  }
}
