import { ConfigError } from '../errors.ts';
import type { CompressionCodec } from './codecs/codec.ts';
import { batchHeaderBytes, sealCompressedBatch } from './header.ts';

function compressedBatch(batch: Buffer, codec: CompressionCodec, section: unknown): Buffer {
  if (!(section instanceof Uint8Array)) {
    throw new ConfigError(`Compression codec ${codec.name} must return a Uint8Array, or a promise of one.`, [
      'compression',
    ]);
  }
  // Not from Node's shared slab: the batch may wait for its acknowledgement for minutes.
  const compressed = Buffer.allocUnsafeSlow(batchHeaderBytes + section.length);
  batch.copy(compressed, 0, 0, batchHeaderBytes);
  compressed.set(section, batchHeaderBytes);
  sealCompressedBatch(compressed, codec.id);
  return compressed;
}

/**
 * A copy of an uncompressed batch with its records section compressed, its attributes saying so and its CRC right; numbers are
 * kept. The batch itself must not change until then. Rejects or throws what the codec does.
 * @throws {ConfigError} when the codec answers something else than bytes.
 */
export function compressBatch(batch: Buffer, codec: CompressionCodec): Buffer | Promise<Buffer> {
  const section = codec.compress(batch.subarray(batchHeaderBytes));
  if (section instanceof Uint8Array) return compressedBatch(batch, codec, section);
  return Promise.resolve(section).then((resolved) => compressedBatch(batch, codec, resolved));
}
