const shortestMs = 3_000;
const growth = 2;
const shrink = 0.9;

/**
 * How long a broker that owes an answer may say nothing before its connection is doubted. It learns: a broker that needs its time
 * gets twice what it last needed, and a connection that was given up in vain makes the next one be trusted for longer, so that a
 * slow broker is not sent everything again and again.
 */
export class Patience {
  #ms = shortestMs;
  #isUnproven = false;

  get ms(): number {
    return this.#ms;
  }

  /** An answer came after so long a silence. */
  answered(silenceMs: number): void {
    // The first answer after a connection was given up tells whether that was right.
    const learned = this.#isUnproven ? 0 : this.#ms * shrink;
    this.#ms = Math.max(shortestMs, growth * silenceMs, learned);
    this.#isUnproven = false;
  }

  /** The connection was given up. */
  gaveUp(): void {
    this.#ms *= growth;
    this.#isUnproven = true;
  }
}
