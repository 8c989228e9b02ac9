import { gunzipSync } from 'node:zlib';

/**
 * Reads record batches (magic 2) from bytes, after Kafka's protocol documentation. The checker's own: it shares no code with the
 * producer or the broker, so that a fault in their codec can't hide itself.
 */
export interface LoggedBatch {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly leaderEpoch: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly recordCount: number;
  readonly maxTimestampMs: number;
  readonly values: readonly string[];
}

/** The fields of a batch header that say whose batch it is. */
export interface BatchNumbers {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly recordCount: number;
}

const headerBytes = 61;
const sequenceSpace = 2 ** 31;

export function readNumbers(bytes: Buffer): BatchNumbers {
  return {
    producerId: bytes.readBigInt64BE(43),
    producerEpoch: bytes.readInt16BE(51),
    baseSequence: bytes.readInt32BE(53),
    recordCount: bytes.readInt32BE(57),
  };
}

/** The last sequence number of a batch; after 2^31 - 1 comes 0. */
export function lastSequenceOf({ baseSequence, recordCount }: BatchNumbers): number {
  return (baseSequence + recordCount - 1) % sequenceSpace;
}

export function readLoggedBatch(bytes: Buffer): LoggedBatch {
  if (bytes.length < headerBytes || bytes.readInt8(16) !== 2)
    throw new Error('the log holds something that is no batch');
  if (bytes.readInt32BE(8) + 12 !== bytes.length)
    throw new Error('the log holds a batch of another length than it says');
  const baseOffset = Number(bytes.readBigInt64BE(0));
  const codec = bytes.readInt16BE(21) & 7;
  const body = bytes.subarray(headerBytes);
  return {
    ...readNumbers(bytes),
    baseOffset,
    lastOffset: baseOffset + bytes.readInt32BE(23),
    leaderEpoch: bytes.readInt32BE(12),
    maxTimestampMs: Number(bytes.readBigInt64BE(35)),
    values: readValues(codec === 0 ? body : unpack(codec, body), bytes.readInt32BE(57)),
  };
}

function unpack(codec: number, body: Buffer): Buffer {
  if (codec !== 1) throw new Error(`the log holds a batch of codec ${codec}, which no workload uses`);
  return gunzipSync(body);
}

function readValues(body: Buffer, count: number): string[] {
  const values: string[] = [];
  let at = 0;
  const varint = (): number => {
    let raw = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = body.readUInt8(at++);
      raw |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (raw >>> 1) ^ -(raw & 1);
    }
  };
  const varlong = (): void => {
    while (body.readUInt8(at++) >= 0x80);
  };
  const bytes = (length: number): Buffer => {
    at += length;
    return body.subarray(at - length, at);
  };
  for (let index = 0; index < count; index++) {
    const length = varint();
    const end = at + length;
    at++; // attributes
    varlong(); // timestamp delta
    if (varint() !== index) throw new Error('the log holds a record with another offset than its place');
    const keyLength = varint();
    if (keyLength > 0) bytes(keyLength);
    const valueLength = varint();
    values.push(valueLength < 0 ? '' : bytes(valueLength).toString('latin1'));
    at = end;
  }
  if (at !== body.length) throw new Error('the log holds a batch with bytes after its last record');
  return values;
}
