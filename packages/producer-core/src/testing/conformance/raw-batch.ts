/** One record batch, field by field, so that a case can send what no producer would. Without compression. */
export interface RawBatchFields {
  readonly producerId: bigint;
  readonly epoch: number;
  readonly baseSequence: number;
  /** One record each. */
  readonly values: readonly (string | Uint8Array)[];
  readonly timestampMs: number;
}

const headerBytes = 61;
const crcOffset = 17;
const crcStart = 21;

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc >>> 0;
});

function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

function encodeRecord(value: string | Uint8Array, offsetDelta: number): Buffer {
  const valueBytes = Buffer.from(value as Uint8Array);
  const body = Buffer.concat([
    Buffer.from([0]), // attributes
    varint(0), // timestamp delta
    varint(offsetDelta),
    varint(-1), // no key
    varint(valueBytes.length),
    valueBytes,
    varint(0), // no headers
  ]);
  return Buffer.concat([varint(body.length), body]);
}

/**
 * Encodes a record batch (magic 2) byte by byte after Kafka's protocol documentation. The suite doesn't use the package's own
 * codec: what checks must not share code with what is checked.
 */
export function encodeRawBatch({ producerId, epoch, baseSequence, values, timestampMs }: RawBatchFields): Buffer {
  const records = values.map(encodeRecord);
  const header = Buffer.alloc(headerBytes);
  const length = headerBytes + records.reduce((sum, record) => sum + record.length, 0);
  header.writeBigInt64BE(0n, 0); // base offset
  header.writeInt32BE(length - 12, 8);
  header.writeInt32BE(-1, 12); // partition leader epoch
  header.writeInt8(2, 16); // magic
  header.writeInt16BE(0, 21); // attributes
  header.writeInt32BE(values.length - 1, 23); // last offset delta
  header.writeBigInt64BE(BigInt(timestampMs), 27);
  header.writeBigInt64BE(BigInt(timestampMs), 35);
  header.writeBigInt64BE(producerId, 43);
  header.writeInt16BE(epoch, 51);
  header.writeInt32BE(baseSequence, 53);
  header.writeInt32BE(values.length, 57);
  const batch = Buffer.concat([header, ...records]);
  batch.writeUInt32BE(crc32c(batch.subarray(crcStart)), crcOffset);
  return batch;
}
