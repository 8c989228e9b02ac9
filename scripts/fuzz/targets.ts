import {
  type CompressionCodec,
  crc32c,
  decodeRecordBatches,
  loadAvailableCodecs,
  RecordBatchError,
} from '@sendonce/producer-core/record-batch';
import { checkBatch, isFault } from '../../packages/transport-memory/src/batch-check.ts';
import { ProducerEntry } from '../../packages/transport-memory/src/producer-state.ts';
import { decodeSnapshot, encodeSnapshot, SnapshotError } from '../../packages/transport-memory/src/snapshot.ts';
import { type Bombs, batchInput, compressedNow, soundBatch } from './batch-inputs.ts';
import { mutated } from './byte-mutations.ts';
import { kafkaReplyTargets } from './kafka-replies.ts';
import type { RandomInput } from './random-input.ts';

/** What decoders may take, small so that a breach shows. */
const decodeLimitBytes = 1024 * 1024;

/** Something that decodes bytes from outside. */
export interface FuzzTarget {
  readonly name: string;
  generate(random: RandomInput): Buffer;
  /** What became of the input: a word for the report. Throws when the decoder did what it must not. */
  decode(input: Buffer): string;
}

/** Runs a decoder whose only allowed error is a typed one. */
function outcomeOf(decode: () => void): string {
  try {
    decode();
    return 'decoded';
  } catch (error) {
    if (error instanceof RecordBatchError) return error.code;
    throw error;
  }
}

function recordBatchTarget(codecs: readonly CompressionCodec[], bombs: Bombs): FuzzTarget {
  return {
    name: 'record-batch',
    generate: (random) => batchInput(random, codecs, bombs),
    decode: (input) =>
      outcomeOf(() => {
        for (const { header, sizeBytes, records } of decodeRecordBatches(input, {
          codecs,
          maxDecompressedBytes: decodeLimitBytes,
        })) {
          if (records.length !== header.recordCount)
            throw new Error(`${records.length} of ${header.recordCount} records`);
          if (sizeBytes > input.length) throw new Error(`A batch of ${sizeBytes} in ${input.length} bytes`);
          let bytes = 0;
          for (const { key, value } of records) bytes += (key?.length ?? 0) + (value?.length ?? 0);
          if (bytes > decodeLimitBytes) throw new Error(`${bytes} bytes of records over the limit`);
        }
      }),
  };
}

function brokerTarget(codecs: readonly CompressionCodec[], bombs: Bombs): FuzzTarget {
  const decompress = (codecId: number, bytes: Buffer): Buffer => {
    const codec = codecs.find(({ id }) => id === codecId)!;
    const section = codec.decompress(bytes, decodeLimitBytes);
    return Buffer.from(section.buffer, section.byteOffset, section.byteLength);
  };
  return {
    name: 'memory-broker',
    generate: (random) => batchInput(random, codecs, bombs),
    decode: (input) => {
      const checked = checkBatch(input, { maxMessageBytes: decodeLimitBytes, decompress });
      return isFault(checked) ? `error ${checked.errorCode}` : 'accepted';
    },
  };
}

/** Whole, cut off, or damaged near its start, where sizes are. */
function bombInput(bomb: Buffer, random: RandomInput): Buffer {
  if (random.chance(0.3)) return bomb;
  const start = bomb.subarray(0, 64);
  return Buffer.concat([
    random.chance(0.5) ? mutated(start, random) : start,
    bomb.subarray(64, 64 + random.below(bomb.length)),
  ]);
}

/** Any section a codec may be given: damaged, random, a bomb. */
function codecTarget(codec: CompressionCodec, bombs: Bombs): FuzzTarget {
  return {
    name: codec.name,
    generate: (random) => {
      const kind = random.below(8);
      if (kind === 0) return random.bytes(random.below(400));
      if (kind === 1) return bombInput(bombs.get(codec.id)!, random);
      const compressed = compressedNow(soundBatch(random), codec);
      return kind === 2 ? compressed : mutated(compressed, random);
    },
    decode: (input) =>
      outcomeOf(() => {
        const { length } = codec.decompress(input, decodeLimitBytes);
        if (length > decodeLimitBytes) throw new Error(`${length} bytes over the limit`);
      }),
  };
}

const snapshotTarget: FuzzTarget = {
  name: 'snapshot',
  generate: (random) => {
    const entries = Array.from({ length: random.below(5) }, (_, index): [bigint, ProducerEntry] => {
      const entry = new ProducerEntry(random.below(100), random.below(2 ** 31));
      const timestampMs = random.below(2 ** 31);
      for (let batch = 0; batch <= random.below(5); batch++) {
        const numbers = {
          baseSequence: batch * 3,
          lastSequence: batch * 3 + 2,
          baseOffset: batch * 3,
          lastOffset: batch * 3 + 2,
        };
        entry.add(entry.epoch, { ...numbers, timestampMs }, timestampMs);
      }
      return [BigInt(index), entry];
    });
    const bytes = encodeSnapshot(entries, 5);
    return random.chance(0.1) ? bytes : mutatedSnapshot(bytes, random);
  },
  decode: (input) => {
    try {
      decodeSnapshot(input);
      return 'decoded';
    } catch (error) {
      if (error instanceof SnapshotError) return 'SnapshotError';
      throw error;
    }
  },
};

/** Version, CRC, body: most of the time with a CRC that fits, so that the decoder goes on. */
function mutatedSnapshot(snapshot: Buffer, random: RandomInput): Buffer {
  if (random.chance(0.2)) return mutated(snapshot, random);
  const body = mutated(snapshot.subarray(5), random);
  const bytes = Buffer.concat([snapshot.subarray(0, 5), body]);
  bytes.writeUInt32BE(crc32c(body), 1);
  return bytes;
}

/** Every decoder of bytes from outside. Another one: add its target here. */
export async function fuzzTargets(): Promise<readonly FuzzTarget[]> {
  const codecs = await loadAvailableCodecs();
  const zeros = Buffer.alloc(32 * decodeLimitBytes);
  const bombs = new Map<number, Buffer>();
  for (const codec of codecs) bombs.set(codec.id, Buffer.from(await codec.compress(zeros)));
  return [
    recordBatchTarget(codecs, bombs),
    brokerTarget(codecs, bombs),
    ...codecs.map((codec) => codecTarget(codec, bombs)),
    snapshotTarget,
    ...kafkaReplyTargets,
  ];
}
