import type { Runtime, TimerHandle } from '@sendonce/producer-core/transport';

/** How long something takes: each time a number between the two. */
export interface DelayRange {
  readonly minMs: number;
  readonly maxMs: number;
}

export function drawDelayMs({ minMs, maxMs }: DelayRange, runtime: Runtime): number {
  return minMs === maxMs ? minMs : minMs + runtime.random() * (maxMs - minMs);
}

interface Waiting<T> {
  readonly item: T;
  readonly dueMs: number;
}

/**
 * Hands items on in the order in which they came, each after a delay of its own: one direction of a connection. What has to
 * wait holds up everything behind it. Bounded by what the sender may have under way.
 */
export class DelayLine<T> {
  readonly #runtime: Runtime;
  readonly #deliver: (item: T) => void;
  #waiting: Waiting<T>[] = [];
  #timer: TimerHandle | null = null;

  constructor(runtime: Runtime, deliver: (item: T) => void) {
    this.#runtime = runtime;
    this.#deliver = deliver;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Delivers at once, before it returns, when there is neither a delay nor anything ahead. */
  push(item: T, delayMs: number): void {
    const last = this.#waiting[this.#waiting.length - 1];
    if (last === undefined && delayMs <= 0) {
      this.#deliver(item);
      return;
    }
    const dueMs = this.#runtime.monotonicMs() + Math.max(0, delayMs);
    this.#waiting.push({ item, dueMs });
    this.#arm();
  }

  /** Forgets what is still under way. */
  drop(): void {
    this.#waiting = [];
    if (this.#timer !== null) this.#runtime.cancel(this.#timer);
    this.#timer = null;
  }

  #arm(): void {
    const first = this.#waiting[0];
    if (first === undefined || this.#timer !== null) return;
    this.#timer = this.#runtime.schedule(first.dueMs - this.#runtime.monotonicMs(), () => this.#deliverDue());
  }

  #deliverDue(): void {
    this.#timer = null;
    const nowMs = this.#runtime.monotonicMs();
    // An item stays in the line while it is delivered: what its delivery pushes must queue up behind the others.
    while (this.#waiting.length > 0 && this.#waiting[0]!.dueMs <= nowMs) {
      const { item } = this.#waiting[0]!;
      this.#deliver(item);
      this.#waiting.shift();
    }
    this.#arm();
  }
}
