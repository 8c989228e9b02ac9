import type { HrTime } from '@opentelemetry/api';

/** Beyond this the process's clock has drifted from the system's, or the system's was set. */
const driftMaxMs = 2;

/** Time for spans and durations. */
export class Clock {
  readonly #wallClockMs: (() => number) | undefined;
  #offsetMs = Number.NaN;

  /** `wallClockMs`: milliseconds since 1970 of another clock than the platform's, such as a simulated one. */
  constructor(wallClockMs?: () => number) {
    this.#wallClockMs = wallClockMs;
  }

  /**
   * For spans: finer than `Date.now`, for which attempts on one machine take no time, and in step with it, since other spans of the trace use it. Whole
   * microseconds: Zipkin refuses fractions.
   */
  now(): HrTime {
    return toHrTime(this.#wallClockMs?.() ?? this.#platformMs());
  }

  /** For durations: from an arbitrary start. */
  elapsedMs(): number {
    return this.#wallClockMs?.() ?? performance.now();
  }

  #platformMs(): number {
    const elapsedMs = performance.now();
    const wallMs = Date.now();
    // Date.now() cuts off the fraction: in step means 0 to 1 ahead of it.
    if (!(Math.abs(elapsedMs + this.#offsetMs - wallMs) <= driftMaxMs)) this.#offsetMs = wallMs - elapsedMs;
    return elapsedMs + this.#offsetMs;
  }
}

function toHrTime(epochMs: number): HrTime {
  const microseconds = Math.round(epochMs * 1_000);
  const seconds = Math.floor(microseconds / 1e6);
  return [seconds, (microseconds - seconds * 1e6) * 1_000];
}
