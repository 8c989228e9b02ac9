/** The codecs of record batch v2, and its ids for them. */
export const codecIds = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

export type CompressionName = keyof typeof codecIds;

/** Compresses and decompresses the records section of a batch. Plug in your own wherever a codec's name is accepted. */
export interface CompressionCodec {
  /** For messages and statistics. */
  readonly name: string;
  /** What the batch's attributes say: 1 gzip, 2 snappy, 3 lz4, 4 zstd. Consumers choose their decoder by it. */
  readonly id: 1 | 2 | 3 | 4;
  /** May work on another thread and answer later. Must not change `bytes`, and must not keep them. */
  compress(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /**
   * @throws {RecordBatchError} `DECOMPRESSED_TOO_LARGE`, before that much is allocated, when the result would exceed
   * `maxBytes`; `DECOMPRESSION_FAILED` when `bytes` are not what the codec writes.
   */
  decompress(bytes: Uint8Array, maxBytes: number): Uint8Array;
}
