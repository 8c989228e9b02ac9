/** A reply that does not have the shape its version promises. The connection it came on can't be trusted any more. */
export class MalformedReplyError extends Error {
  override readonly name = 'MalformedReplyError';
}

const maxVarintBytes = 5;

/**
 * Reads Kafka's primitive types from a part of a buffer. Every read is checked against the end of the part, and every length
 * against what is left, so that a reply can't make us read past it or allocate more than its own size.
 */
export class WireReader {
  #buffer: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  constructor(buffer?: Buffer) {
    if (buffer) this.reset(buffer, 0, buffer.length);
  }

  reset(buffer: Buffer, start: number, end: number): void {
    this.#buffer = buffer;
    this.#at = start;
    this.#end = end;
  }

  get remaining(): number {
    return this.#end - this.#at;
  }

  int8(): number {
    return this.#buffer.readInt8(this.#advance(1));
  }

  int16(): number {
    return this.#buffer.readInt16BE(this.#advance(2));
  }

  int32(): number {
    return this.#buffer.readInt32BE(this.#advance(4));
  }

  int64(): bigint {
    return this.#buffer.readBigInt64BE(this.#advance(8));
  }

  /** An int64 that is a time or a count: exact up to 2^53. */
  int64AsNumber(): number {
    const at = this.#advance(8);
    return this.#buffer.readInt32BE(at) * 4_294_967_296 + this.#buffer.readUInt32BE(at + 4);
  }

  unsignedVarint(): number {
    let value = 0;
    for (let i = 0; i < maxVarintBytes; i++) {
      const byte = this.#buffer[this.#advance(1)]!;
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw new MalformedReplyError(`a variable-length number is longer than ${maxVarintBytes} bytes`);
  }

  /** Number of elements; -1 for null. Each element takes at least one byte, so a count beyond what is left is a lie. */
  arrayLength(isFlexible: boolean): number {
    const length = isFlexible ? this.unsignedVarint() - 1 : this.int32();
    if (length < -1 || length > this.remaining)
      throw new MalformedReplyError(`an array claims ${length} elements, ${this.remaining} bytes are left`);
    return length;
  }

  nullableString(isFlexible: boolean): string | undefined {
    const length = isFlexible ? this.unsignedVarint() - 1 : this.int16();
    if (length === -1) return undefined;
    const at = this.#advance(length);
    return this.#buffer.toString('utf8', at, at + length);
  }

  string(isFlexible: boolean): string {
    const text = this.nullableString(isFlexible);
    if (text === undefined) throw new MalformedReplyError('a text is missing');
    return text;
  }

  /** Whether the next text equals `expected`; moves past it if so, else stays before it. */
  skipIfString(expected: Uint8Array, isFlexible: boolean): boolean {
    const before = this.#at;
    const length = isFlexible ? this.unsignedVarint() - 1 : this.int16();
    if (length === expected.length && this.#skipIfBytes(expected)) return true;
    this.#at = before;
    return false;
  }

  /** Whether the next 16 bytes are `expected`; moves past them if so, else stays before them. */
  skipIfUuid(expected: Uint8Array): boolean {
    return this.#skipIfBytes(expected);
  }

  /** Kafka's text form of a UUID (base64url, 22 characters). */
  uuid(): string {
    const at = this.#advance(16);
    return this.#buffer.toString('base64url', at, at + 16);
  }

  bytes(isFlexible: boolean): Buffer | undefined {
    const length = isFlexible ? this.unsignedVarint() - 1 : this.int32();
    if (length === -1) return undefined;
    const at = this.#advance(length);
    return Buffer.from(this.#buffer.subarray(at, at + length));
  }

  skip(bytes: number): void {
    this.#advance(bytes);
  }

  /** Goes over tagged fields; `onTag` may read the field's content, and what it leaves is skipped. */
  tags(onTag?: (tag: number) => void): void {
    const count = this.unsignedVarint();
    if (count > this.remaining) throw new MalformedReplyError(`${count} tagged fields in ${this.remaining} bytes`);
    for (let i = 0; i < count; i++) {
      const tag = this.unsignedVarint();
      const size = this.unsignedVarint();
      const end = this.#at + size;
      if (size > this.remaining)
        throw new MalformedReplyError(`a tagged field of ${size} bytes, ${this.remaining} are left`);
      onTag?.(tag);
      if (this.#at > end) throw new MalformedReplyError(`tagged field ${tag} is shorter than its content`);
      this.#at = end;
    }
  }

  #skipIfBytes(expected: Uint8Array): boolean {
    const { length } = expected;
    if (length > this.remaining) return false;
    for (let i = 0; i < length; i++) {
      if (this.#buffer[this.#at + i] !== expected[i]) return false;
    }
    this.#at += length;
    return true;
  }

  #advance(bytes: number): number {
    const at = this.#at;
    if (bytes < 0 || bytes > this.#end - at)
      throw new MalformedReplyError(`${bytes} bytes are expected, ${this.#end - at} are left`);
    this.#at = at + bytes;
    return at;
  }
}
