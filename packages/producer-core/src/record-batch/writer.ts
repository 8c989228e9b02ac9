import type { RecordBytes, RecordHeaders } from '../record.ts';
import { batchHeaderBytes, writeBatchHeader } from './header.ts';
import { encodedRecordSize, type HeaderPairs, headerPairs, recordBodyBytesMin, recordBytesMax } from './record-size.ts';
import { varintBytes, writeVarint, writeVarlong } from './varint.ts';

/**
 * - `appended`: the record is in the batch.
 * - `grow`: it does not fit in the buffer, but within the limit: call `grow` with a larger buffer, then append again.
 * - `full`: it would take the batch over the limit.
 */
export type AppendOutcome = 'appended' | 'grow' | 'full';

function writeField(buffer: Buffer, at: number, bytes: RecordBytes): number {
  if (bytes === null) {
    // Length -1.
    buffer[at] = 1;
    return at + 1;
  }
  const length = bytes.length;
  const contentAt = writeVarint(buffer, at, length);
  if (typeof bytes !== 'string') {
    buffer.set(bytes, contentAt);
    return contentAt + length;
  }
  const written = buffer.write(bytes, contentAt, 'utf8');
  return written === length ? contentAt + length : correctLength(buffer, at, contentAt, written);
}

/** The text at `contentAt` takes more bytes than it has units: its length, which starts at `lengthAt`, is another. */
function correctLength(buffer: Buffer, lengthAt: number, contentAt: number, length: number): number {
  const movedTo = lengthAt + varintBytes(length);
  if (movedTo !== contentAt) buffer.copyWithin(movedTo, contentAt, contentAt + length);
  writeVarint(buffer, lengthAt, length);
  return movedTo + length;
}

function writeHeaders(buffer: Buffer, at: number, pairs: HeaderPairs): number {
  let next = writeVarint(buffer, at, pairs.length);
  for (let index = 0; index < pairs.length; index++) {
    const pair = pairs[index]!;
    next = writeField(buffer, writeField(buffer, next, pair[0]), pair[1]);
  }
  return next;
}

/**
 * Encodes records straight into a batch's buffer (rule C1). The hot path: no allocation, no BigInt, one pass over each string.
 *
 * One pass, because UTF-8 takes as many bytes as a string has units exactly when all are ASCII. So lengths are written as if
 * they were, and where a string then took more, and its length another byte, what follows the length is moved by that byte.
 */
export class RecordBatchWriter {
  #buffer: Buffer;
  #size = batchHeaderBytes;
  #count = 0;
  readonly #baseTimestampMs: number;
  #maxTimestampMs: number;

  /** `baseTimestampMs` is the first record's timestamp, a safe integer; the buffer holds at least a batch header. */
  constructor(buffer: Buffer, baseTimestampMs: number) {
    if (buffer.length < batchHeaderBytes) {
      throw new RangeError(`A batch needs a buffer of at least ${batchHeaderBytes} bytes, not ${buffer.length}`);
    }
    this.#buffer = buffer;
    this.#baseTimestampMs = baseTimestampMs;
    this.#maxTimestampMs = baseTimestampMs;
  }

  /** Bytes of the batch so far, its header included. */
  get size(): number {
    return this.#size;
  }

  get count(): number {
    return this.#count;
  }

  get maxTimestampMs(): number {
    return this.#maxTimestampMs;
  }

  get baseTimestampMs(): number {
    return this.#baseTimestampMs;
  }

  /** Appends a record unless the batch would exceed `limitBytes`, its header included. Copies what it is given. */
  tryAppend(
    key: RecordBytes,
    value: RecordBytes,
    headers: RecordHeaders | undefined,
    timestampMs: number,
    limitBytes: number,
  ): AppendOutcome {
    const buffer = this.#buffer;
    const start = this.#size;
    const count = this.#count;
    const pairs = headers === undefined ? null : headerPairs(headers);
    const timestampDelta = timestampMs - this.#baseTimestampMs;

    const sizeMax = start + recordBytesMax(key, value, pairs);
    if (sizeMax > buffer.length || sizeMax > limitBytes) {
      const size = start + encodedRecordSize(key, value, headers, count, timestampDelta);
      if (size > limitBytes) return 'full';
      if (size > buffer.length) return 'grow';
    }

    // The record's length comes first and is known last: room for what it takes if all text is ASCII.
    const lengthRoom = varintBytes(recordBodyBytesMin(key, value, count));
    const bodyAt = start + lengthRoom;
    let at = bodyAt;
    buffer[at++] = 0;
    if (timestampDelta >= -64 && timestampDelta < 64) {
      buffer[at++] = timestampDelta < 0 ? -timestampDelta * 2 - 1 : timestampDelta * 2;
    } else at = writeVarlong(buffer, at, timestampDelta);
    at = writeVarint(buffer, at, count);
    at = writeField(buffer, at, key);
    at = writeField(buffer, at, value);
    if (pairs === null) buffer[at++] = 0;
    else at = writeHeaders(buffer, at, pairs);

    const bodyBytes = at - bodyAt;
    const lengthBytes = varintBytes(bodyBytes);
    if (lengthBytes !== lengthRoom) {
      buffer.copyWithin(start + lengthBytes, bodyAt, at);
      at += lengthBytes - lengthRoom;
    }
    writeVarint(buffer, start, bodyBytes);
    this.#size = at;
    this.#count = count + 1;
    if (timestampMs > this.#maxTimestampMs) this.#maxTimestampMs = timestampMs;
    return 'appended';
  }

  /** Goes on in a larger buffer. The one before is not needed any more. */
  grow(larger: Buffer): void {
    if (larger.length < this.#size)
      throw new RangeError(`The batch has ${this.#size} bytes, the buffer ${larger.length}`);
    larger.set(this.#buffer.subarray(0, this.#size));
    this.#buffer = larger;
  }

  /**
   * Completes the batch: a view of the buffer, ready for `compressBatch` and `stampBatch`. It has no producer id, epoch,
   * sequence and CRC before the latter.
   */
  finish(): Buffer {
    if (this.#count === 0) throw new Error('A batch needs a record');
    writeBatchHeader(this.#buffer, this.#size, {
      codecId: 0,
      baseTimestampMs: this.#baseTimestampMs,
      maxTimestampMs: this.#maxTimestampMs,
      recordCount: this.#count,
    });
    return this.#buffer.subarray(0, this.#size);
  }
}
