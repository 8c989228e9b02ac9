const seed = 0x9747b28c;
const multiplier = 0x5bd1e995;
const rotation = 24;

/** Longer keys are encoded into a buffer of their own. */
const scratchBytes = 3 * 1024;
const utf8BytesPerUnitMax = 3;
let scratch: Buffer | undefined;

function hash(bytes: Uint8Array, length: number): number {
  let state = seed ^ length;
  const wordsEnd = length & ~3;
  let at = 0;
  while (at < wordsEnd) {
    let word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    word = Math.imul(word, multiplier);
    word ^= word >>> rotation;
    state = Math.imul(state, multiplier) ^ Math.imul(word, multiplier);
    at += 4;
  }
  const rest = length - wordsEnd;
  if (rest >= 3) state ^= bytes[at + 2]! << 16;
  if (rest >= 2) state ^= bytes[at + 1]! << 8;
  if (rest >= 1) state = Math.imul(state ^ bytes[at]!, multiplier);
  state ^= state >>> 13;
  state = Math.imul(state, multiplier);
  return state ^ (state >>> 15);
}

/** Java's client's `Utils.murmur2`: a signed 32-bit number. A string is hashed as its UTF-8. */
export function murmur2(key: Uint8Array | string): number {
  if (typeof key !== 'string') return hash(key, key.length);
  if (key.length * utf8BytesPerUnitMax > scratchBytes) {
    const bytes = Buffer.from(key);
    return hash(bytes, bytes.length);
  }
  scratch ??= Buffer.allocUnsafeSlow(scratchBytes);
  return hash(scratch, scratch.write(key, 0, 'utf8'));
}

/**
 * The partition that Java's client gives a key, so that a key lands on the same one whichever client sends it.
 * Not the absolute value: the sign bit is dropped.
 */
export function partitionForKey(key: Uint8Array | string, partitionCount: number): number {
  return (murmur2(key) & 0x7fff_ffff) % partitionCount;
}
