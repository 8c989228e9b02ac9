import type { Deadline } from './deadline-queue.ts';

/** Fewer holes are not worth the work of closing them. */
const holesMin = 1_024;

/**
 * Deadlines that come in the order of their times, as those of batches do: all have the same timeout. Whoever leaves leaves a hole, so that
 * adding and removing touch no other entry; in a heap each removal moves a dozen of them, which the processor has to fetch first.
 */
export class DeadlineLine {
  readonly #entries: (Deadline | null)[] = [];
  /** The place of `#entries[0]`: places only grow. */
  #firstPlace = 0;
  /** Entries before this one are holes. */
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): Deadline | undefined {
    return this.#entries[this.#head] ?? undefined;
  }

  /** Entries and holes. */
  get slots(): number {
    return this.#entries.length;
  }

  /** Whether a deadline of that time can be the last one. */
  takes(atMs: number): boolean {
    const last = this.#entries.at(-1);
    return last == null || last.atMs <= atMs;
  }

  add(deadline: Deadline): void {
    deadline.linePlace = this.#firstPlace + this.#entries.length;
    this.#entries.push(deadline);
    this.#size++;
  }

  remove(deadline: Deadline): void {
    const entries = this.#entries;
    entries[deadline.linePlace - this.#firstPlace] = null;
    deadline.linePlace = -1;
    this.#size--;
    // The first one and the last one are never holes.
    while (this.#head < entries.length && entries[this.#head] === null) this.#head++;
    while (entries.length > this.#head && entries.at(-1) === null) entries.pop();
    if (this.#head >= holesMin && this.#head * 2 >= entries.length) this.#closeFront();
    else if (entries.length - this.#size >= Math.max(holesMin, 4 * this.#size)) this.#closeAll();
  }

  clear(): void {
    for (const deadline of this.#entries) if (deadline !== null) deadline.linePlace = -1;
    this.#entries.length = 0;
    this.#size = 0;
    this.#closeFront();
  }

  #closeFront(): void {
    this.#entries.splice(0, this.#head);
    this.#firstPlace += this.#head;
    this.#head = 0;
  }

  /** Few stay for long while many come and go behind them. */
  #closeAll(): void {
    const entries = this.#entries.filter((deadline) => deadline !== null);
    this.#entries.length = 0;
    this.#firstPlace = 0;
    this.#head = 0;
    this.#size = 0;
    for (const deadline of entries) this.add(deadline);
  }
}
