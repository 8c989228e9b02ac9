/** A pending timer, to be handed back to {@link Runtime.cancel}. */
export type TimerHandle = unknown;

/**
 * Everything the producer takes from its surroundings: time, timers and chance (rule C17).
 *
 * The default, {@link platformRuntime}, uses the platform's. Tests pass the simulated runtime of
 * `@sendonce/producer-core/testing`, with which a run is a pure function of its seed.
 */
export interface Runtime {
  /** Milliseconds from an arbitrary start; never goes backwards. Durations and deadlines use this clock alone. */
  monotonicMs(): number;
  /** Milliseconds since 1970-01-01 UTC. Used for record timestamps only; may jump. */
  wallClockMs(): number;
  /**
   * Calls `callback` once, after at least `delayMs`, any finite number however large. On a platform where timers keep a process alive, these do: the producer has
   * one only while something is not settled.
   */
  schedule(delayMs: number, callback: () => void): TimerHandle;
  /** Forgets a timer. A timer that already ran, or was cancelled, is ignored. */
  cancel(timer: TimerHandle): void;
  /** Calls `callback` once, at the end of the current event-loop turn (`setImmediate`). */
  endOfTurn(callback: () => void): void;
  /** A number in [0, 1). */
  random(): number;
}

/** Node runs a timer of a longer delay at once. */
const longestTimerMs = 2 ** 31 - 1;

/** A timer of more than the platform's longest: several, one after the other. */
class LongTimer {
  #timer: NodeJS.Timeout;

  constructor(delayMs: number, callback: () => void) {
    this.#timer = this.#next(delayMs, callback);
  }

  #next(delayMs: number, callback: () => void): NodeJS.Timeout {
    if (delayMs <= longestTimerMs) return setTimeout(callback, delayMs);
    return setTimeout(() => {
      this.#timer = this.#next(delayMs - longestTimerMs, callback);
    }, longestTimerMs);
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}

/** The platform's clock, timers and randomness. */
export const platformRuntime: Runtime = {
  monotonicMs: () => performance.now(),
  wallClockMs: () => Date.now(),
  schedule: (delayMs, callback) =>
    delayMs > longestTimerMs ? new LongTimer(delayMs, callback) : setTimeout(callback, Math.max(0, delayMs)),
  cancel: (timer) => (timer instanceof LongTimer ? timer.cancel() : clearTimeout(timer as NodeJS.Timeout)),
  endOfTurn: (callback) => void setImmediate(callback),
  random: () => Math.random(),
};
