/** Where the walk stands. One walk runs at a time and runs to its end, so one cursor serves all: no allocation for each record. */
let position = 0;

/** A varint may take five bytes, a varlong ten. */
const varlongBytesMax = 10;

export interface RecordWalkOptions {
  /** Whether each record's offset delta must be its index. Kafka asks it of compressed batches only. */
  readonly checkOffsetDeltas: boolean;
}

/**
 * Checks that the bytes from `start` hold exactly `count` well-formed records (KIP-98's record format), as a broker does
 * before it stores a batch (M3). Returns what is wrong, or null. Allocates nothing.
 */
export function findRecordFault(
  bytes: Uint8Array,
  start: number,
  count: number,
  { checkOffsetDeltas }: RecordWalkOptions,
): string | null {
  position = start;
  const end = bytes.length;
  for (let index = 0; index < count; index++) {
    const bodyLength = readVarint(bytes, end);
    const recordEnd = position + bodyLength;
    if (!(bodyLength >= 0 && recordEnd <= end)) return `record ${index} does not fit into the batch`;
    position++; // attributes
    skipVarlong(bytes, recordEnd); // timestamp delta
    const offsetDelta = readVarint(bytes, recordEnd);
    if (checkOffsetDeltas && offsetDelta !== index) return `record ${index} has offset delta ${offsetDelta}`;
    skipBytes(bytes, recordEnd); // key
    skipBytes(bytes, recordEnd); // value
    const headers = readVarint(bytes, recordEnd);
    // Every number before it that can't be read ends up here as NaN.
    if (Number.isNaN(headers)) return `record ${index} breaks off within a field, or holds a number that is too long`;
    if (headers < 0) return `record ${index} has ${headers} headers`;
    for (let header = 0; header < headers; header++) {
      const keyLength = readVarint(bytes, recordEnd);
      if (!(keyLength >= 0)) return `record ${index} has a header without a key`;
      position += keyLength;
      skipBytes(bytes, recordEnd);
    }
    if (position !== recordEnd) return `record ${index} does not end where its length says`;
  }
  return position === end ? null : 'bytes remain after the last record';
}

/** A zigzag varint; NaN when it runs past `end` or is too long, and so is the position: no field after it can be read. */
function readVarint(bytes: Uint8Array, end: number): number {
  let raw = 0;
  for (let shift = 0; shift < 35 && position < end; shift += 7) {
    const byte = bytes[position++]!;
    raw |= (byte & 0x7f) << shift;
    if (byte < 0x80) return (raw >>> 1) ^ -(raw & 1);
  }
  position = Number.NaN;
  return Number.NaN;
}

function skipVarlong(bytes: Uint8Array, end: number): void {
  const last = Math.min(end, position + varlongBytesMax);
  while (position < last) {
    if (bytes[position++]! < 0x80) return;
  }
  position = Number.NaN;
}

/** A length and that many bytes; -1 stands for null. */
function skipBytes(bytes: Uint8Array, end: number): void {
  const length = readVarint(bytes, end);
  if (length > 0) position += length;
}
