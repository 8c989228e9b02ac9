import type { CompressionCodec } from './codec.ts';
import { decompressedTooLarge, decompressionFailed } from './decompression-error.ts';
import { checkLz4Frame } from './lz4-frame.ts';
import { loadPeerPackage } from './peer-package.ts';

/** As `gzipAsyncFromBytes`. */
const asyncFromBytes = 64 * 1024;

/** @throws {ConfigError} when the package is missing. */
export async function loadLz4Codec(): Promise<CompressionCodec> {
  const lz4 = await loadPeerPackage('lz4', 'lz4-napi', () => import('lz4-napi'));
  return {
    name: 'lz4',
    id: 3,
    compress: (bytes) =>
      bytes.length < asyncFromBytes ? lz4.compressFrameSync(asBuffer(bytes)) : lz4.compressFrame(bytes),
    decompress: (bytes, maxBytes) => {
      const frame = asBuffer(bytes);
      checkLz4Frame(frame, maxBytes);
      let decompressed: Buffer;
      try {
        decompressed = lz4.decompressFrameSync(frame);
      } catch (error) {
        throw decompressionFailed('lz4', (error as Error).message, error);
      }
      if (decompressed.length > maxBytes) throw decompressedTooLarge('lz4', maxBytes);
      return decompressed;
    },
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
