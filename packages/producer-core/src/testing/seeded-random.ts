const twoTo32 = 2 ** 32;

/** FNV-1a, 32 bits: spreads a stream's name over the state. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/**
 * A stream of pseudo-random numbers (xoshiro128**, seeded by splitmix32). Streams of one seed and different names are
 * independent, so that one more draw in one place doesn't shift what another place sees.
 */
export class SeededRandom {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number, name: string) {
    let state = (seed >>> 0) ^ Math.imul(Math.floor(seed / twoTo32) >>> 0, 0x9e3779b1) ^ hashText(name);
    const splitmix = (): number => {
      state = (state + 0x9e3779b9) | 0;
      let mixed = state ^ (state >>> 16);
      mixed = Math.imul(mixed, 0x21f0aaad);
      mixed ^= mixed >>> 15;
      mixed = Math.imul(mixed, 0x735a2d97);
      return (mixed ^ (mixed >>> 15)) | 0;
    };
    this.#a = splitmix();
    this.#b = splitmix();
    this.#c = splitmix();
    // All four zero is the one state that the generator can't leave.
    this.#d = splitmix() | 1;
  }

  /** A whole number in [0, 2^32). */
  nextUint32(): number {
    const product = Math.imul(this.#b, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9);
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    return this.nextUint32() / twoTo32;
  }
}
