import {
  batchHeaderBytes,
  type CompressionCodec,
  compressBatch,
  headerAt,
  RecordBatchWriter,
  stampBatch,
  writeBatchCrc,
} from '@sendonce/producer-core/record-batch';
import { mutated } from './byte-mutations.ts';
import type { RandomInput } from './random-input.ts';

const batchBytesMax = 4096;
const baseTimestampMs = 1_700_000_000_000;

function content(random: RandomInput, lengthMax: number): Buffer | string | null {
  const length = random.below(lengthMax);
  switch (random.below(4)) {
    case 0:
      return null;
    case 1:
      return 'payment äccepted €'.repeat(1 + length / 18).slice(0, length);
    case 2:
      return Buffer.alloc(length, 'x');
    default:
      return random.bytes(length);
  }
}

/** A sound batch of one to thirty records, not compressed. */
export function soundBatch(random: RandomInput): Buffer {
  const writer = new RecordBatchWriter(Buffer.alloc(batchBytesMax), baseTimestampMs);
  const count = 1 + random.below(30);
  for (let index = 0; index < count; index++) {
    const headers = Array.from(
      { length: random.below(3) },
      () => [`h${random.below(9)}`, content(random, 12)] as const,
    );
    writer.tryAppend(
      content(random, 20),
      content(random, 200),
      headers,
      baseTimestampMs + random.int32(),
      batchBytesMax,
    );
  }
  if (writer.count === 0) writer.tryAppend(null, null, undefined, baseTimestampMs, batchBytesMax);
  const batch = writer.finish();
  stampBatch(batch, batch.length, { producerId: 5001n, epoch: 0, baseSequence: random.below(2 ** 31) });
  return batch;
}

/** The codecs answer at once for what is as small as here. */
export function compressedNow(bytes: Buffer, codec: CompressionCodec): Buffer {
  const compressed = codec.compress(bytes);
  if (!(compressed instanceof Uint8Array))
    throw new Error(`${codec.name} compresses ${bytes.length} bytes on another thread`);
  return Buffer.from(compressed);
}

/** Length and CRC as they should be, so that the decoder goes on to what is wrong inside. */
function sealed(batch: Buffer): Buffer {
  if (batch.length < batchHeaderBytes) return batch;
  batch.writeInt32BE(batch.length - 12, headerAt.batchLength);
  writeBatchCrc(batch, batch.length);
  return batch;
}

const numericFields = [
  headerAt.batchLength,
  headerAt.partitionLeaderEpoch,
  headerAt.lastOffsetDelta,
  headerAt.baseTimestamp,
  headerAt.maxTimestamp,
  headerAt.producerId,
  headerAt.baseSequence,
  headerAt.recordCount,
];

function withField(batch: Buffer, random: RandomInput): Buffer {
  const kind = random.below(10);
  if (kind === 0) batch.writeInt8(random.pick([0, 1, 3, 127, -1]), headerAt.magic);
  else if (kind === 1) batch.writeInt16BE(random.below(64), headerAt.attributes);
  else if (kind === 2) {
    const count = random.int32();
    batch.writeInt32BE(count, headerAt.recordCount);
    batch.writeInt32BE((count - 1) | 0, headerAt.lastOffsetDelta);
  } else batch.writeInt32BE(random.int32(), random.pick(numericFields));
  writeBatchCrc(batch, batch.length);
  return batch;
}

/** Header as in `batch`, another records section, a codec id. */
function withSection(batch: Buffer, section: Buffer, codecId: number): Buffer {
  const result = Buffer.concat([batch.subarray(0, batchHeaderBytes), section]);
  result.writeInt16BE(codecId, headerAt.attributes);
  return sealed(result);
}

/** Sections that are small and decompress to much more than any limit here. */
export type Bombs = ReadonlyMap<number, Buffer>;

/** A batch, or several, most of them damaged in one way: bytes, a field, a record, a compressed section. */
export function batchInput(random: RandomInput, codecs: readonly CompressionCodec[], bombs: Bombs): Buffer {
  const batch = soundBatch(random);
  const section = batch.subarray(batchHeaderBytes);
  const codec = random.pick(codecs);
  switch (random.below(11)) {
    case 0:
      return batch;
    case 1:
      return mutated(batch, random);
    case 2:
      return withField(batch, random);
    case 3:
      return withSection(batch, mutated(section, random), 0);
    case 4:
      return withSection(batch, compressedNow(mutated(section, random), codec), codec.id);
    case 5:
      return withSection(batch, mutated(compressedNow(section, codec), random), codec.id);
    case 6:
      return withSection(batch, random.bytes(random.below(300)), random.below(8));
    case 7:
      return withSection(batch, bombs.get(codec.id)!, codec.id);
    case 8:
      return manySmallRecords(batch, random, codec);
    case 9: {
      const other = soundBatch(random);
      return Buffer.concat([batch, random.chance(0.5) ? mutated(other, random) : other]);
    }
    default:
      return withField(Buffer.from(compressBatch(batch, codec) as Buffer), random);
  }
}

/** Thousands of records of seven bytes, or headers of two: little input, many objects. */
function manySmallRecords(batch: Buffer, random: RandomInput, codec: CompressionCodec): Buffer {
  const count = 1 + random.below(2000);
  const section = Buffer.concat(Array<Buffer>(count).fill(Buffer.from([12, 0, 0, 0, 1, 1, 0])));
  batch.writeInt32BE(count - 1, headerAt.lastOffsetDelta);
  batch.writeInt32BE(count, headerAt.recordCount);
  return withSection(batch, compressedNow(section, codec), codec.id);
}
