import { createRequire } from 'node:module';

type Crc32c = (bytes: Uint8Array) => number;

/** CRC32C (Castagnoli), reflected. */
const polynomial = 0x82f63b78;

function buildTable(): Int32Array {
  const table = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let remainder = byte;
    for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ polynomial : remainder >>> 1;
    table[byte] = remainder;
  }
  return table;
}

let table: Int32Array | undefined;

/** CRC32C without a native package: the same answer, some ten times slower. */
export function plainCrc32c(bytes: Uint8Array): number {
  table ??= buildTable();
  let crc = -1;
  for (let at = 0; at < bytes.length; at++) crc = table[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

interface Implementation {
  readonly name: 'native' | 'plain';
  readonly crc32c: Crc32c;
}

function loadNative(): { crc32c: Crc32c } {
  return createRequire(import.meta.url)('@node-rs/crc32') as { crc32c: Crc32c };
}

/** The native one where it can be loaded: an optional dependency, with a binary that not every platform has. */
export function chooseImplementation(load: () => { crc32c: Crc32c } = loadNative): Implementation {
  try {
    return { name: 'native', crc32c: load().crc32c };
  } catch {
    return { name: 'plain', crc32c: plainCrc32c };
  }
}

let implementation: Implementation | undefined;

/** CRC32C of `bytes`, 0 to 2^32-1. By the optional dependency `@node-rs/crc32` where it is installed. */
export function crc32c(bytes: Uint8Array): number {
  implementation ??= chooseImplementation();
  return implementation.crc32c(bytes);
}
