import { batchHeaderBytes, type CompressionCodec, headerAt, loadCodec } from '@sendonce/producer-core/record-batch';
import type { ClusterRequest } from './requests.ts';

const names = ['gzip', 'snappy', 'lz4', 'zstd'] as const;
const codecMask = 0b111;

/** More than this a batch may not be when decompressed: brokers must not be made to allocate without end. */
const decompressedBytesMax = 64 * 1024 * 1024;

/**
 * The cluster's decoders. Brokers look into compressed batches before they store them, consumers decode them. A decoder is
 * loaded when it is first needed; whose package is not installed is not there.
 */
export class Codecs {
  readonly #loaded = new Map<number, CompressionCodec>();
  readonly #loading = new Map<number, Promise<void>>();
  readonly #absent = new Set<number>();

  constructor(given: readonly CompressionCodec[] = []) {
    for (const codec of given) this.#loaded.set(codec.id, codec);
  }

  get loaded(): CompressionCodec[] {
    return [...this.#loaded.values()];
  }

  /** Whether to `load` it first. */
  isMissing(codecId: number): boolean {
    const isKnown = this.#loaded.has(codecId) || this.#absent.has(codecId);
    return !isKnown && codecId >= 1 && codecId <= names.length;
  }

  /** The codecs that a broker has to load before it can work on a request. */
  missingFor(request: ClusterRequest): number[] {
    if (request.api !== 'produce') return [];
    const missing = new Set<number>();
    for (const { batch } of request.produce.partitions) {
      if (batch.length < batchHeaderBytes) continue;
      const codecId = batch[headerAt.attributes + 1]! & codecMask;
      if (this.isMissing(codecId)) missing.add(codecId);
    }
    return [...missing];
  }

  /** Resolves when it was tried; never rejects. */
  load(codecId: number): Promise<void> {
    let loading = this.#loading.get(codecId);
    if (loading === undefined) {
      loading = loadCodec(names[codecId - 1]!).then(
        (codec) => void this.#loaded.set(codecId, codec),
        () => void this.#absent.add(codecId),
      );
      this.#loading.set(codecId, loading);
    }
    return loading;
  }

  /** @throws when the bytes are none of the codec's, or there is no such codec. */
  readonly decompress = (codecId: number, bytes: Buffer): Buffer => {
    const codec = this.#loaded.get(codecId);
    if (codec === undefined) throw new Error(`the codec ${names[codecId - 1] ?? codecId} is not there`);
    const records = codec.decompress(bytes, decompressedBytesMax);
    return Buffer.from(records.buffer, records.byteOffset, records.byteLength);
  };
}
