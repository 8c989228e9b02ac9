import { constants as bufferConstants } from 'node:buffer';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { ConfigError } from '../../errors.ts';
import type { CompressionCodec } from './codec.ts';
import { decompressedTooLarge, decompressionFailed } from './decompression-error.ts';

/** From here on the thread pool frees the event loop of a tenth of a millisecond a batch at least; below, it only adds latency. */
const gzipAsyncFromBytes = 16 * 1024;
const zstdAsyncFromBytes = 64 * 1024;

/** RFC 8878: what every decoder should support; Java's client writes windows of 2 MiB. */
const zstdWindowLogMin = 23;
const zstdWindowLogMax = 31;

const gzipAsync = promisify<Uint8Array, Buffer>(zlib.gzip);

function outputLimit(maxBytes: number): number {
  return Math.max(1, Math.min(maxBytes, bufferConstants.MAX_LENGTH));
}

function errorOf(codec: string, maxBytes: number, cause: unknown): Error {
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const isTooLarge = code === 'ERR_BUFFER_TOO_LARGE' || code === 'ZSTD_error_frameParameter_windowTooLarge';
  return isTooLarge
    ? decompressedTooLarge(codec, maxBytes, cause)
    : decompressionFailed(codec, (cause as Error).message, cause);
}

export const gzipCodec: CompressionCodec = {
  name: 'gzip',
  id: 1,
  compress: (bytes) => (bytes.length < gzipAsyncFromBytes ? zlib.gzipSync(bytes) : gzipAsync(bytes)),
  decompress: (bytes, maxBytes) => {
    try {
      return zlib.gunzipSync(bytes, { maxOutputLength: outputLimit(maxBytes) });
    } catch (error) {
      throw errorOf('gzip', maxBytes, error);
    }
  },
};

/** What a frame may ask the decoder to keep in memory: as much as the result may have. */
function windowLog(maxBytes: number): number {
  return Math.min(zstdWindowLogMax, Math.max(zstdWindowLogMin, Math.ceil(Math.log2(maxBytes))));
}

/** @throws {ConfigError} where Node's zlib has no zstd. */
export function zstdCodec(platform: Partial<typeof zlib> = zlib): CompressionCodec {
  const { zstdCompress, zstdCompressSync, zstdDecompressSync } = platform;
  if (zstdCompress === undefined || zstdCompressSync === undefined || zstdDecompressSync === undefined) {
    throw new ConfigError(
      `Compression 'zstd' needs Node 22.15 or later; this is ${process.version}. Choose 'gzip', 'lz4' or 'snappy', or a newer Node.`,
      ['compression'],
    );
  }
  const compressAsync = promisify<Uint8Array, Buffer>(zstdCompress);
  return {
    name: 'zstd',
    id: 4,
    compress: (bytes) => (bytes.length < zstdAsyncFromBytes ? zstdCompressSync(bytes) : compressAsync(bytes)),
    decompress: (bytes, maxBytes) => {
      try {
        return zstdDecompressSync(bytes, {
          maxOutputLength: outputLimit(maxBytes),
          params: { [zlib.constants.ZSTD_d_windowLogMax]: windowLog(maxBytes) },
        });
      } catch (error) {
        throw errorOf('zstd', maxBytes, error);
      }
    },
  };
}
