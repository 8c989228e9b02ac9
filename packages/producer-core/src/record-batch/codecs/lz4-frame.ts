import { decompressedTooLarge, decompressionFailed } from './decompression-error.ts';

/** LZ4 frame format 1.6, as far as Kafka uses it: independent blocks, no dictionary. */
const frameMagic = 0x184d2204;
const versionMask = 0b1100_0000;
const version1 = 0b0100_0000;
const blockIndependenceBit = 0b10_0000;
const blockChecksumBit = 0b1_0000;
const contentSizeBit = 0b1000;
const contentChecksumBit = 0b100;
const checksumBytes = 4;
const contentSizeBytes = 8;
const notCompressedBit = 0x8000_0000;
/** A byte of a block adds at most so many to what it decompresses to. */
const expansionMax = 255;
/** Matches count from here. */
const matchBytesMin = 4;

function malformed(what: string): Error {
  return decompressionFailed('lz4', what);
}

/** What a compressed block decompresses to, exactly, by reading its lengths only. */
function decompressedBlockBytes(block: Buffer): number {
  let at = 0;
  let bytes = 0;
  const extended = (nibble: number): number => {
    let length = nibble;
    if (nibble < 15) return length;
    for (;;) {
      const byte = block[at++];
      if (byte === undefined) throw malformed('a block ends within a length');
      length += byte;
      if (byte < 255) return length;
    }
  };
  while (at < block.length) {
    const token = block[at++]!;
    const literals = extended(token >>> 4);
    at += literals;
    bytes += literals;
    // The last sequence has no match.
    if (at >= block.length) break;
    at += 2;
    bytes += extended(token & 15) + matchBytesMin;
  }
  return bytes;
}

interface Frame {
  readonly blockBytesMax: number;
  readonly hasBlockChecksums: boolean;
  readonly hasContentChecksum: boolean;
  readonly declaredBytes: number | null;
  readonly blocksAt: number;
}

function readFrameHeader(frame: Buffer): Frame {
  if (frame.length < 7 || frame.readUInt32LE(0) !== frameMagic) throw malformed('no frame starts here');
  const flags = frame[4]!;
  if ((flags & versionMask) !== version1 || (flags & 0b11) !== 0) throw malformed(`unsupported frame flags ${flags}`);
  if ((flags & blockIndependenceBit) === 0)
    throw malformed('blocks that depend on one another, which Kafka does not use');
  const sizeCode = frame[5]! >>> 4;
  if (sizeCode < 4 || sizeCode > 7 || (frame[5]! & 15) !== 0) throw malformed(`unsupported block size ${frame[5]}`);
  const hasContentSize = (flags & contentSizeBit) !== 0;
  const blocksAt = 7 + (hasContentSize ? contentSizeBytes : 0);
  if (frame.length < blocksAt) throw malformed('the frame header is cut off');
  return {
    blockBytesMax: 1 << (2 * sizeCode + 8),
    hasBlockChecksums: (flags & blockChecksumBit) !== 0,
    hasContentChecksum: (flags & contentChecksumBit) !== 0,
    declaredBytes: hasContentSize ? frame.readUInt32LE(6) + frame.readUInt32LE(10) * 2 ** 32 : null,
    blocksAt,
  };
}

/**
 * Walks the one frame that `frame` must be, before a decoder that knows no limit gets it.
 * @throws {RecordBatchError} when it is malformed, or decompresses to more than `maxBytes`.
 */
export function checkLz4Frame(frame: Buffer, maxBytes: number): void {
  const { blockBytesMax, hasBlockChecksums, hasContentChecksum, declaredBytes, blocksAt } = readFrameHeader(frame);
  if (declaredBytes !== null && declaredBytes > maxBytes) throw decompressedTooLarge('lz4', maxBytes);
  const blocks: Buffer[] = [];
  let at = blocksAt;
  let storedBytes = 0;
  let compressedBytesMax = 0;
  for (;;) {
    if (frame.length - at < checksumBytes) throw malformed('the frame ends before its end mark');
    const size = frame.readUInt32LE(at);
    at += 4;
    if (size === 0) break;
    const isStored = size >= notCompressedBit;
    const blockBytes = isStored ? size - notCompressedBit : size;
    if (isStored) storedBytes += blockBytes;
    else {
      compressedBytesMax += Math.min(blockBytesMax, blockBytes * expansionMax);
      blocks.push(frame.subarray(at, at + blockBytes));
    }
    // Past the end, for a block that is cut off: then there is no end mark.
    at += blockBytes + (hasBlockChecksums ? checksumBytes : 0);
  }
  at += hasContentChecksum ? checksumBytes : 0;
  if (at !== frame.length) throw malformed(`${frame.length - at} bytes follow the frame`);
  if (storedBytes + compressedBytesMax <= maxBytes) return;
  // The cheap bound does not settle it.
  let bytes = storedBytes;
  for (const block of blocks) {
    bytes += decompressedBlockBytes(block);
    if (bytes > maxBytes) throw decompressedTooLarge('lz4', maxBytes);
  }
}
