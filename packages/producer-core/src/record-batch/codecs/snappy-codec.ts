import type { CompressionCodec } from './codec.ts';
import { decompressedTooLarge, decompressionFailed } from './decompression-error.ts';
import { loadPeerPackage } from './peer-package.ts';

/** As `gzipAsyncFromBytes`. */
const asyncFromBytes = 64 * 1024;

/**
 * Java's client frames snappy as snappy-java's streams do: a magic, two versions, then blocks of at most 32 KiB, each behind
 * its length. Some other clients write one bare block.
 */
const magic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);
const frameHeader = Buffer.concat([magic, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])]);
const blockBytesMax = 32 * 1024;
const blockLengthBytes = 4;

type SnappyPackage = Pick<typeof import('snappy'), 'compress' | 'compressSync' | 'uncompressSync'>;

function blocksOf(bytes: Uint8Array): Uint8Array[] {
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += blockBytesMax) blocks.push(bytes.subarray(at, at + blockBytesMax));
  return blocks;
}

function framed(compressed: readonly Uint8Array[]): Buffer {
  const parts: Uint8Array[] = [frameHeader];
  for (const block of compressed) {
    const length = Buffer.allocUnsafe(blockLengthBytes);
    length.writeInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

/** The compressed blocks, with either framing. */
function snappyBlocks(bytes: Uint8Array): Uint8Array[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.subarray(0, magic.length).equals(magic)) return [buffer];
  if (buffer.length < frameHeader.length) throw decompressionFailed('snappy', 'the frame header is cut off');
  const blocks: Uint8Array[] = [];
  for (let at = frameHeader.length; at < buffer.length; ) {
    const left = buffer.length - at - blockLengthBytes;
    const length = left >= 0 ? buffer.readInt32BE(at) : -1;
    if (length < 0 || length > left) throw decompressionFailed('snappy', `a block of ${length} bytes at byte ${at}`);
    at += blockLengthBytes;
    blocks.push(buffer.subarray(at, at + length));
    at += length;
  }
  return blocks;
}

/** What a block says it decompresses to: a varint at its start. */
function declaredBytes(block: Uint8Array): number {
  let bytes = 0;
  for (let at = 0; at < 5; at++) {
    const byte = block[at];
    if (byte === undefined) break;
    bytes += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) return bytes;
  }
  throw decompressionFailed('snappy', 'a block without a length');
}

/** @throws {ConfigError} when the package is missing. */
export async function loadSnappyCodec(): Promise<CompressionCodec> {
  const snappy: SnappyPackage = await loadPeerPackage('snappy', 'snappy', () => import('snappy'));
  return {
    name: 'snappy',
    id: 2,
    compress: (bytes) => {
      const blocks = blocksOf(bytes);
      if (bytes.length < asyncFromBytes) return framed(blocks.map((block) => snappy.compressSync(block)));
      return Promise.all(blocks.map((block) => snappy.compress(block))).then(framed);
    },
    decompress: (bytes, maxBytes) => {
      const blocks = snappyBlocks(bytes);
      // The package allocates what a block says, so all of it is added up first.
      let total = 0;
      for (const block of blocks) total += declaredBytes(block);
      if (total > maxBytes) throw decompressedTooLarge('snappy', maxBytes);
      try {
        return Buffer.concat(blocks.map((block) => snappy.uncompressSync(block, { asBuffer: true }) as Buffer));
      } catch (error) {
        throw decompressionFailed('snappy', (error as Error).message, error);
      }
    },
  };
}
