/** Chance as plans and workloads use it, on one stream of a seed. */
export class Dice {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.#random() * (max - min + 1));
  }

  /** As `int`, with small numbers as likely as large ones: for sizes and times that span orders of magnitude. */
  scale(min: number, max: number): number {
    return Math.round(min * (max / min) ** this.#random());
  }

  /** Time until the next of events that come at random, `meanMs` apart on average. */
  gapMs(meanMs: number): number {
    return -Math.log(1 - this.#random()) * meanMs;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)]!;
  }
}
