import { ConfigError } from '../../errors.ts';
import type { CompressionCodec, CompressionName } from './codec.ts';
import { loadLz4Codec } from './lz4-codec.ts';
import { loadSnappyCodec } from './snappy-codec.ts';
import { gzipCodec, zstdCodec } from './zlib-codecs.ts';

/** Names of the codecs that this package brings, or knows a package for. */
export type CodecName = Exclude<CompressionName, 'none'>;

const loaders: Readonly<Record<CodecName, () => Promise<CompressionCodec>>> = {
  gzip: async () => gzipCodec,
  snappy: loadSnappyCodec,
  lz4: loadLz4Codec,
  zstd: async () => zstdCodec(),
};

/**
 * Gzip and zstd come with Node; snappy needs the package `snappy`, lz4 the package `lz4-napi`. Nothing is loaded before it is
 * asked for.
 * @throws {ConfigError} when the package is missing, saying how to install it; when Node is too old for zstd.
 */
export async function loadCodec(name: CodecName): Promise<CompressionCodec> {
  return await loaders[name]();
}

/** Every codec that can be loaded here: what a reader needs that must expect any. */
export async function loadAvailableCodecs(): Promise<CompressionCodec[]> {
  const codecs: CompressionCodec[] = [];
  for (const load of Object.values(loaders)) {
    try {
      codecs.push(await load());
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
    }
  }
  return codecs;
}
