const slabBytes = 64 * 1024;

export const unsignedVarintBytes = (value: number) =>
  value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;

/**
 * Writes Kafka's primitive types, one request after the other, into slabs that are never reused: a socket may still hold a
 * part of one. So a request's head costs no buffer of its own.
 */
export class WireWriter {
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  #start = 0;
  #at = 0;

  /** Makes room for `bytes` in one piece, which {@link take} cuts off. */
  reserve(bytes: number): void {
    if (this.#slab.length - this.#at < bytes) {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, bytes));
      this.#at = 0;
    }
    this.#start = this.#at;
  }

  /** What was written since {@link reserve} or the last call. */
  take(): Buffer {
    const piece = this.#slab.subarray(this.#start, this.#at);
    this.#start = this.#at;
    return piece;
  }

  int8(value: number): void {
    this.#at = this.#slab.writeInt8(value, this.#at);
  }

  int16(value: number): void {
    this.#at = this.#slab.writeInt16BE(value, this.#at);
  }

  int32(value: number): void {
    this.#at = this.#slab.writeInt32BE(value, this.#at);
  }

  int64(value: bigint): void {
    this.#at = this.#slab.writeBigInt64BE(value, this.#at);
  }

  unsignedVarint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#slab[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#slab[this.#at++] = rest;
  }

  arrayLength(length: number, isFlexible: boolean): void {
    if (isFlexible) this.unsignedVarint(length + 1);
    else this.int32(length);
  }

  string(utf8: Uint8Array, isFlexible: boolean): void {
    if (isFlexible) this.unsignedVarint(utf8.length + 1);
    else this.int16(utf8.length);
    this.bytes(utf8);
  }

  nullString(isFlexible: boolean): void {
    if (isFlexible) this.unsignedVarint(0);
    else this.int16(-1);
  }

  noTags(isFlexible: boolean): void {
    if (isFlexible) this.int8(0);
  }

  bytes(bytes: Uint8Array): void {
    this.#slab.set(bytes, this.#at);
    this.#at += bytes.length;
  }
}
