import type { Deadline } from './deadline-queue.ts';

/** Deadlines in any order: a binary heap in which each entry knows its place. */
export class DeadlineHeap {
  readonly #entries: Deadline[] = [];

  get size(): number {
    return this.#entries.length;
  }

  get first(): Deadline | undefined {
    return this.#entries[0];
  }

  add(deadline: Deadline): void {
    deadline.heapIndex = this.#entries.length;
    this.#entries.push(deadline);
    this.#siftUp(deadline.heapIndex);
  }

  remove(deadline: Deadline): void {
    const index = deadline.heapIndex;
    deadline.heapIndex = -1;
    const last = this.#entries.pop()!;
    if (last === deadline) return;
    this.#entries[index] = last;
    last.heapIndex = index;
    this.#siftUp(index);
    this.#siftDown(last.heapIndex);
  }

  clear(): void {
    for (const deadline of this.#entries) deadline.heapIndex = -1;
    this.#entries.length = 0;
  }

  #siftUp(from: number): void {
    const entries = this.#entries;
    const entry = entries[from]!;
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = entries[parentIndex]!;
      if (parent.atMs <= entry.atMs) break;
      entries[index] = parent;
      parent.heapIndex = index;
      index = parentIndex;
    }
    entries[index] = entry;
    entry.heapIndex = index;
  }

  #siftDown(from: number): void {
    const entries = this.#entries;
    const entry = entries[from]!;
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= entries.length) break;
      const right = entries[childIndex + 1];
      if (right !== undefined && right.atMs < entries[childIndex]!.atMs) childIndex++;
      const child = entries[childIndex]!;
      if (child.atMs >= entry.atMs) break;
      entries[index] = child;
      child.heapIndex = index;
      index = childIndex;
    }
    entries[index] = entry;
    entry.heapIndex = index;
  }
}
