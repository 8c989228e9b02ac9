import { readFileSync } from 'node:fs';

interface RawVector {
  readonly compression: string;
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly lastSequence: number;
  readonly recordCount: number;
  readonly maxTimestamp: number;
  readonly crc: number;
  readonly bytes: string;
  readonly records: readonly {
    readonly timestamp: number;
    readonly key: string | null;
    readonly value: string | null;
    readonly headers: readonly (readonly [string, string | null])[];
  }[];
}

export interface VectorRecord {
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: (readonly [string, Buffer | null])[];
}

/** A whole batch as Java's client sends it, and what it holds. */
export interface JavaBatch extends Omit<RawVector, 'producerId' | 'bytes' | 'records'> {
  readonly name: string;
  readonly codecId: number;
  readonly producerId: bigint;
  readonly bytes: Buffer;
  readonly records: readonly VectorRecord[];
}

const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

const file = new URL('record-batches-java.json', import.meta.url);
const { batches } = JSON.parse(readFileSync(file, 'utf8')) as { batches: RawVector[] };

function bytesOf(hex: string | null): Buffer | null {
  return hex === null ? null : Buffer.from(hex, 'hex');
}

export const javaBatches: readonly JavaBatch[] = batches.map((raw) => ({
  ...raw,
  name: `${raw.compression}, ${raw.recordCount} records from sequence ${raw.baseSequence}`,
  codecId: codecs.indexOf(raw.compression),
  producerId: BigInt(raw.producerId),
  bytes: Buffer.from(raw.bytes, 'hex'),
  records: raw.records.map(({ timestamp, key, value, headers }) => ({
    timestamp,
    key: bytesOf(key),
    value: bytesOf(value),
    headers: headers.map(([name, each]) => [name, bytesOf(each)] as const),
  })),
}));
