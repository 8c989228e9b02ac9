/** A guard against waiting for answers of another time. */
const longestBacklogMs = 1_000;
/** How much one answer says about the next. */
const weight = 1 / 8;
/** How fast the quickest answer is forgotten: the way to the broker may have become longer. */
const quickestWeight = 1 / 1_024;
/** Answers vary: most of them come within twice what they usually take longer. */
const margin = 2;

/**
 * How far behind a broker is, told from its answers: how much longer they usually take than the quickest did. The way there and
 * back, and what a request takes at best, are in both.
 */
export class AnswerTimes {
  #quickestMs = Number.POSITIVE_INFINITY;
  #usualMs = Number.POSITIVE_INFINITY;

  answered(tookMs: number): void {
    if (this.#usualMs === Number.POSITIVE_INFINITY) this.#usualMs = tookMs;
    else this.#usualMs += (tookMs - this.#usualMs) * weight;
    if (tookMs < this.#quickestMs) this.#quickestMs = tookMs;
    else this.#quickestMs += (tookMs - this.#quickestMs) * quickestWeight;
  }

  /** How long the broker is likely to have no time for another request. 0 while nothing was answered. */
  get backlogMs(): number {
    if (this.#usualMs === Number.POSITIVE_INFINITY) return 0;
    return Math.min(longestBacklogMs, Math.max(0, margin * (this.#usualMs - this.#quickestMs)));
  }
}
