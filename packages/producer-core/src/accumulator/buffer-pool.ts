/** Capacities that are kept for reuse. A batch starts in the one that its partition filled last time. */
const smallestBytes = 4 * 1024;
const growthFactor = 4;

/**
 * Batch buffers, bounded by `bufferMemory` (rule C14). What counts is the capacity handed out, and what is held for callers
 * whose records wait outside a batch.
 */
export class BufferPool {
  readonly limitBytes: number;
  readonly largestPooledBytes: number;
  readonly #free = new Map<number, Buffer[]>();
  #freeBytes = 0;
  #usedBytes = 0;

  constructor(limitBytes: number, batchSize: number) {
    this.limitBytes = limitBytes;
    this.largestPooledBytes = Math.min(batchSize, limitBytes);
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get availableBytes(): number {
    return this.limitBytes - this.#usedBytes;
  }

  /** A buffer of at least `neededBytes`, of `hintBytes` where there is room for it; `null` when memory is full. */
  acquire(neededBytes: number, hintBytes: number): Buffer | null {
    let capacity = this.#capacityFor(Math.max(neededBytes, hintBytes));
    if (capacity > this.availableBytes) {
      capacity = this.#capacityFor(neededBytes);
      if (capacity > this.availableBytes) {
        capacity = neededBytes;
        if (capacity > this.availableBytes) return null;
      }
    }
    this.#usedBytes += capacity;
    const free = this.#free.get(capacity);
    const buffer = free?.pop();
    if (buffer !== undefined) {
      this.#freeBytes -= capacity;
      return buffer;
    }
    if (this.#freeBytes + this.#usedBytes > this.limitBytes) this.#forgetFree();
    // Not from Node's shared slab: a reused buffer must own its memory.
    return Buffer.allocUnsafeSlow(capacity);
  }

  release(buffer: Buffer): void {
    const capacity = buffer.length;
    this.#usedBytes -= capacity;
    if (capacity > this.largestPooledBytes || capacity !== this.#capacityFor(capacity)) return;
    // What waits for reuse and what is in use never exceed the limit together, so the process's memory has the same bound.
    if (this.#freeBytes + this.#usedBytes + capacity > this.limitBytes) return;
    const free = this.#free.get(capacity);
    if (free === undefined) this.#free.set(capacity, [buffer]);
    else free.push(buffer);
    this.#freeBytes += capacity;
  }

  /** Counts bytes that lie outside the pool's buffers: compressed batches, waiting records. */
  charge(bytes: number): void {
    this.#usedBytes += bytes;
  }

  discharge(bytes: number): void {
    this.#usedBytes -= bytes;
  }

  #forgetFree(): void {
    this.#free.clear();
    this.#freeBytes = 0;
  }

  #capacityFor(bytes: number): number {
    if (bytes > this.largestPooledBytes) return bytes;
    let capacity = smallestBytes;
    while (capacity < bytes) capacity *= growthFactor;
    return Math.min(capacity, Math.max(this.largestPooledBytes, bytes));
  }
}
