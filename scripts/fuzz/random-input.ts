import { SeededRandom } from '../../packages/producer-core/src/testing/seeded-random.ts';

/** Numbers at which lengths and counts go wrong. */
const edges = [0, 1, -1, 2, -2, 6, 48, 49, 63, 64, 127, 128, 255, 8191, 8192, 65_535, 2 ** 20, 2 ** 28];
const extremes = [2 ** 31 - 1, -(2 ** 31), 2 ** 31 - 2];

/** The chance behind one input: the same seed, target and iteration give the same input. */
export class RandomInput {
  readonly #random: SeededRandom;

  constructor(seed: number, target: string, iteration: number) {
    this.#random = new SeededRandom(seed, `${target}/${iteration}`);
  }

  /** A whole number from 0 up to, and without, `end`. */
  below(end: number): number {
    return Math.floor(this.#random.next() * end);
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let at = 0; at < length; at++) bytes[at] = this.#random.nextUint32();
    return bytes;
  }

  int32(): number {
    const kind = this.below(4);
    if (kind === 0) return this.#random.nextUint32() | 0;
    return this.pick(kind === 1 ? extremes : edges);
  }
}
