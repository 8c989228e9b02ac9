import { gunzipSync, zstdDecompressSync } from 'node:zlib';

const decompressedBytesMax = 64 * 1024 * 1024;

/** Decompresses a records section as a broker must, to check it. */
export function decompress(codecId: number, bytes: Buffer): Buffer {
  const limits = { maxOutputLength: decompressedBytesMax };
  if (codecId === 1) return gunzipSync(bytes, limits);
  if (codecId === 4) return zstdDecompressSync(bytes, limits);
  throw new Error(`no decoder for codec ${codecId}`);
}
