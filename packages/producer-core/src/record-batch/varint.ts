/** Zigzag variable-length numbers, as in Kafka's records: 7 bits a byte, least significant first. */

/** A varint holds 32 bits, a varlong 64. */
export const maxVarintBytes = 5;
export const maxVarlongBytes = 10;

/** Bytes that `value`, a 32-bit number, takes. */
export function varintBytes(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  if (zigzag < 0x80) return 1;
  if (zigzag < 0x4000) return 2;
  if (zigzag < 0x20_0000) return 3;
  return zigzag < 0x1000_0000 ? 4 : 5;
}

/** Writes a 32-bit number and returns where the next byte goes. */
export function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  let zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  let next = at;
  while (zigzag > 0x7f) {
    bytes[next++] = (zigzag & 0x7f) | 0x80;
    zigzag >>>= 7;
  }
  bytes[next++] = zigzag;
  return next;
}

/** Bytes that `value`, a safe integer, takes. */
export function varlongBytes(value: number): number {
  if (value === (value | 0)) return varintBytes(value);
  // Zigzag doubles, and a doubled safe integer may not be safe: the sign bit is kept apart from the magnitude.
  let rest = Math.floor((value < 0 ? -value - 1 : value) / 0x40);
  let length = 1;
  while (rest > 0) {
    rest = Math.floor(rest / 0x80);
    length++;
  }
  return length;
}

/** Writes a safe integer and returns where the next byte goes. */
export function writeVarlong(bytes: Uint8Array, at: number, value: number): number {
  if (value === (value | 0)) return writeVarint(bytes, at, value);
  const magnitude = value < 0 ? -value - 1 : value;
  let low = (magnitude % 0x40) * 2 + (value < 0 ? 1 : 0);
  let rest = Math.floor(magnitude / 0x40);
  let next = at;
  while (rest > 0) {
    bytes[next++] = low | 0x80;
    low = rest % 0x80;
    rest = Math.floor(rest / 0x80);
  }
  bytes[next++] = low;
  return next;
}
