import { describe, expect, test } from 'vitest';
import { javaBatches } from '../../vectors/java-batches.ts';
import { ConfigError } from '../errors.ts';
import type { CompressionCodec } from './codecs/codec.ts';
import { loadAvailableCodecs } from './codecs/load-codec.ts';
import { compressBatch } from './compress.ts';
import { readBatchHeader, stampBatch, writeBatchCrc } from './header.ts';
import { decodeRecordBatch } from './reader.ts';
import { RecordBatchWriter } from './writer.ts';

const codecs = await loadAvailableCodecs();
const plain = javaBatches.find(({ compression, recordCount }) => compression === 'none' && recordCount === 200)!;
const numbers = { producerId: 4711n, epoch: 2, baseSequence: 17 };

/** Identity, as a codec. */
function codecThat(overrides: Partial<CompressionCodec>): CompressionCodec {
  return { name: 'custom', id: 1, compress: (bytes) => bytes, decompress: (bytes) => bytes, ...overrides };
}

describe.each(codecs)('$name', (codec) => {
  test('a compressed batch decodes to the same records', async () => {
    const batch = await compressBatch(plain.bytes, codec);
    const { header, records } = decodeRecordBatch(batch, { codecs });
    expect(header).toMatchObject({ codecId: codec.id, recordCount: 200, baseSequence: 900, producerId: 5001n });
    expect(batch.length).toBeLessThan(plain.bytes.length);
    expect(records).toEqual(decodeRecordBatch(plain.bytes).records);
  });

  test.each(javaBatches.filter(({ codecId }) => codecId === codec.id))(
    "decodes what Java's client wrote: $name",
    (vector) => {
      const { records } = decodeRecordBatch(vector.bytes, { codecs });
      expect(records).toEqual(vector.records.map((record, index) => ({ ...record, offset: BigInt(index) })));
    },
  );

  test('a batch of half a megabyte, as the thread pool compresses it, is the same', async () => {
    const writer = new RecordBatchWriter(Buffer.alloc(1 << 19), 1000);
    for (let index = 0; writer.tryAppend(null, `payment ${index}`, undefined, 1000, 1 << 19) === 'appended'; index++);
    const batch = writer.finish();
    stampBatch(batch, batch.length, numbers);
    const before = Buffer.from(batch);
    const answer = compressBatch(batch, codec);
    expect(answer).toBeInstanceOf(Promise);
    const compressed = await answer;
    expect(batch.equals(before)).toBe(true);
    expect(decodeRecordBatch(compressed, { codecs }).records).toEqual(decodeRecordBatch(batch).records);
  });
});

describe('compressBatch', () => {
  test('C2: numbers can be written before or after', async () => {
    const unnumbered = Buffer.from(plain.bytes);
    stampBatch(unnumbered, unnumbered.length, { producerId: -1n, epoch: -1, baseSequence: -1 });
    const batch = await compressBatch(unnumbered, codecs[0]!);
    stampBatch(batch, batch.length, numbers);
    expect(decodeRecordBatch(batch, { codecs }).header).toMatchObject({
      producerId: 4711n,
      producerEpoch: 2,
      baseSequence: 17,
    });
  });

  test('C1: the result shares no memory with the batch, even when the codec returns what it was given', async () => {
    const batch = Buffer.from(plain.bytes);
    const compressed = await compressBatch(batch, codecThat({ id: 3 }));
    batch.fill(0);
    expect(readBatchHeader(compressed)).toMatchObject({ codecId: 3, recordCount: 200 });
    expect(compressed.subarray(61).equals(plain.bytes.subarray(61))).toBe(true);
  });

  test('a plugged-in codec may be asynchronous, and its failure is the result', async () => {
    const failing = codecThat({ compress: () => Promise.reject(new Error('no more memory')) });
    await expect(compressBatch(plain.bytes, failing)).rejects.toThrow('no more memory');
    const broken = codecThat({ compress: () => Promise.resolve('text' as unknown as Uint8Array) });
    await expect(compressBatch(plain.bytes, broken)).rejects.toThrow(ConfigError);
  });
});

describe('a plugged-in decoder', () => {
  const compressed = Buffer.from(plain.bytes);
  compressed.writeInt16BE(1, 21);
  writeBatchCrc(compressed, compressed.length);

  test('is used for its id', () => {
    expect(decodeRecordBatch(compressed, { codecs: [codecThat({})] }).records).toHaveLength(200);
  });

  test('that throws is a typed error with its cause', () => {
    const cause = new Error('bad block');
    const decompress = () => {
      throw cause;
    };
    expect(() => decodeRecordBatch(compressed, { codecs: [codecThat({ decompress })] })).toThrow(
      expect.objectContaining({ code: 'DECOMPRESSION_FAILED', cause }),
    );
  });

  test('that does not keep the limit is a typed error', () => {
    const options = { codecs: [codecThat({ decompress: () => Buffer.alloc(200) })], maxDecompressedBytes: 199 };
    expect(() => decodeRecordBatch(compressed, options)).toThrow(
      expect.objectContaining({ code: 'DECOMPRESSED_TOO_LARGE' }),
    );
  });
});
