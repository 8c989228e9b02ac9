import { RecordBatchError, type RecordBatchErrorCode } from './record-batch-error.ts';

/** What a record batch holds. Keys and values are views of the bytes it was decoded from, not copies. */
export interface DecodedRecord {
  readonly offset: bigint;
  /** Milliseconds since 1970; the nearest number where 64 bits hold more than a number does. */
  readonly timestamp: number;
  readonly key: Buffer | null;
  /** `null`: a tombstone. */
  readonly value: Buffer | null;
  /** In the order they were written; a name may repeat. */
  readonly headers: (readonly [name: string, value: Buffer | null])[];
}

/** Length, attributes, two deltas, key length, value length, header count: a byte each. */
export const recordBytesMin = 7;
/** Name length and value length. */
const headerBytesMin = 2;
/** Memory that a decoded record, or header, takes beside its bytes, about: a few bytes of input must not become a flood. */
export const recordMemoryBytes = 320;
const headerMemoryBytes = 192;

/** Reads records from the decompressed records section of a batch. Never reads past a record, and never trusts a count. */
export class RecordCursor {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;
  #index = 0;
  #memoryLeftBytes: number;

  /** `memoryBytes`: what the headers may take. */
  constructor(section: Buffer, memoryBytes: number) {
    this.#bytes = section;
    this.#end = section.length;
    this.#memoryLeftBytes = memoryBytes;
  }

  get at(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** @throws {RecordBatchError} */
  readRecord(
    index: number,
    baseOffset: bigint,
    baseTimestampMs: number,
    logAppendTimeMs: number | null,
  ): DecodedRecord {
    this.#index = index;
    this.#end = this.#bytes.length;
    const lengthAt = this.#at;
    const length = this.#varint('length');
    if (length < recordBytesMin - 1 || length > this.#end - this.#at) {
      throw this.#error('length', lengthAt, `a record of ${length} bytes, ${this.#end - this.#at} are left`);
    }
    this.#end = this.#at + length;
    // Attributes: no bit is defined, and brokers store whatever is there.
    this.#at++;
    const timestampDelta = this.#varlong('timestampDelta');
    const offsetDelta = this.#varint('offsetDelta');
    const key = this.#nullableBytes('key');
    const value = this.#nullableBytes('value');
    const headers = this.#headers();
    if (this.#at !== this.#end) {
      throw this.#error('length', lengthAt, `the record ends ${this.#end - this.#at} bytes before its length says`);
    }
    return {
      offset: baseOffset + BigInt(offsetDelta),
      timestamp: logAppendTimeMs ?? baseTimestampMs + timestampDelta,
      key,
      value,
      headers,
    };
  }

  #headers(): (readonly [string, Buffer | null])[] {
    const countAt = this.#at;
    const count = this.#varint('headerCount');
    if (count < 0 || count * headerBytesMin > this.#end - this.#at) {
      throw this.#error('headerCount', countAt, `${count} headers in ${this.#end - this.#at} bytes`);
    }
    this.#memoryLeftBytes -= count * headerMemoryBytes;
    if (this.#memoryLeftBytes < 0) {
      throw this.#error('headerCount', countAt, `${count} more headers exceed the limit`, 'DECOMPRESSED_TOO_LARGE');
    }
    const headers: (readonly [string, Buffer | null])[] = [];
    for (let index = 0; index < count; index++) {
      const nameAt = this.#at;
      const name = this.#nullableBytes('headerName');
      if (name === null) throw this.#error('headerNameLength', nameAt, 'a header without a name');
      headers.push([name.toString('utf8'), this.#nullableBytes('headerValue')]);
    }
    return headers;
  }

  #nullableBytes(field: 'key' | 'value' | 'headerName' | 'headerValue'): Buffer | null {
    const lengthAt = this.#at;
    const length = this.#varint(field);
    if (length === -1) return null;
    if (length < 0 || length > this.#end - this.#at) {
      throw this.#error(`${field}Length`, lengthAt, `${length} bytes, ${this.#end - this.#at} are left`);
    }
    const from = this.#at;
    this.#at += length;
    return this.#bytes.subarray(from, this.#at);
  }

  #byte(field: string, from: number): number {
    if (this.#at >= this.#end) throw this.#error(field, from, 'the record ends within a number');
    return this.#bytes[this.#at++]!;
  }

  #varint(field: string): number {
    const from = this.#at;
    let byte = this.#byte(field, from);
    if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
    let zigzag = byte & 0x7f;
    for (let shift = 7; ; shift += 7) {
      byte = this.#byte(field, from);
      if (shift === 28 && byte > 0x0f) throw this.#error(field, from, 'a number of more than 32 bits');
      zigzag |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (zigzag >>> 1) ^ -(zigzag & 1);
    }
  }

  /** Exact up to 2^53, beyond that the nearest number. */
  #varlong(field: string): number {
    const from = this.#at;
    let byte = this.#byte(field, from);
    const isNegative = (byte & 1) === 1;
    let magnitude = (byte & 0x7f) >>> 1;
    let weight = 0x40;
    for (let count = 2; byte >= 0x80; count++) {
      byte = this.#byte(field, from);
      if (count === 10 && byte > 1) throw this.#error(field, from, 'a number of more than 64 bits');
      magnitude += (byte & 0x7f) * weight;
      weight *= 0x80;
    }
    return isNegative ? -magnitude - 1 : magnitude;
  }

  #error(field: string, at: number, what: string, code: RecordBatchErrorCode = 'INVALID_RECORD'): RecordBatchError {
    return new RecordBatchError(code, `records[${this.#index}].${field}`, at, what);
  }
}
