const windowMs = 10;
/**
 * What may be picked within one window, as a share of a second's: a burst after silence is not known to be one until it is over. At least so many, so
 * that a few sends in a row are all seen.
 */
const burstShare = 0.1;
const burstLeast = 10;

/**
 * Picks every n-th of many events, n such that about `perSecondMax` are picked a second: all of them while there are fewer. What is
 * measured on the picked ones costs the same however many there are, and every event has the same chance.
 */
export class Pacer {
  readonly #perSecondMax: number;
  readonly #burstMax: number;
  #every = 1;
  #untilNext = 1;
  #seen = 0;
  #picked = 0;
  #windowStartMs: number;

  constructor(perSecondMax: number, nowMs: number) {
    this.#perSecondMax = perSecondMax;
    this.#burstMax = perSecondMax === 0 ? 0 : Math.max(burstLeast, Math.ceil(perSecondMax * burstShare));
    this.#windowStartMs = nowMs;
  }

  /** Called once for each event. */
  pick(): boolean {
    this.#seen++;
    if (--this.#untilNext > 0) return false;
    this.#untilNext = this.#every;
    return ++this.#picked <= this.#burstMax;
  }

  /** Called now and then, such as when a batch leaves: chooses n by how many there were since. */
  adapt(nowMs: number): void {
    const elapsedMs = nowMs - this.#windowStartMs;
    if (elapsedMs < windowMs) return;
    const allowed = (this.#perSecondMax * elapsedMs) / 1_000;
    this.#every = allowed > 0 ? Math.max(1, Math.ceil(this.#seen / allowed)) : Number.POSITIVE_INFINITY;
    this.#untilNext = Math.min(this.#untilNext, this.#every);
    this.#windowStartMs = nowMs;
    this.#seen = 0;
    this.#picked = 0;
  }
}
