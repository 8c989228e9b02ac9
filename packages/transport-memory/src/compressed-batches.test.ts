import {
  batchHeaderBytes,
  batchLengthOverheadBytes,
  type CompressionCodec,
  compressBatch,
  headerAt,
  loadAvailableCodecs,
  writeBatchCrc,
} from '@sendonce/producer-core/record-batch';
import { createSimulatedRuntime } from '@sendonce/producer-core/testing';
import { describe, expect, it } from 'vitest';
import { batchOf } from './batches.testkit.ts';
import { createMemoryCluster, type MemoryCluster } from './cluster.ts';

const codecs = await loadAvailableCodecs();

/** On the platform's runtime: codecs are loaded in real time. */
async function store(cluster: MemoryCluster, ...batches: readonly Buffer[]): Promise<number[]> {
  const transport = cluster.transport();
  const produced = batches.map((batch) =>
    transport.produce(1, {
      acks: 'all',
      timeoutMs: 5_000,
      partitions: [{ topic: 'payments', partition: 0, batch }],
    }),
  );
  const errorCodes = (await Promise.all(produced)).map(([result]) => result!.errorCode);
  await transport.close();
  return errorCodes;
}

function cluster(given?: readonly CompressionCodec[]): MemoryCluster {
  return createMemoryCluster({ topics: { payments: {} }, ...(given === undefined ? {} : { codecs: given }) });
}

it('all four codecs are there to be tested', () => {
  expect(codecs.map(({ name }) => name).sort()).toEqual(['gzip', 'lz4', 'snappy', 'zstd']);
});

describe.each(codecs)('M3: $name', (codec) => {
  const plain = batchOf({ producerId: 1, count: 50, value: 'payment of 12.50' });

  it('a batch is looked into, stored as it was sent, and decoded for consumers', async () => {
    const sent = await compressBatch(plain, codec);
    const memory = cluster();
    expect(await store(memory, sent)).toEqual([0]);
    expect(memory.dump('payments', 0)).toMatchObject([{ compresscodec: codec.name, count: 50, isvalid: true }]);
    expect(memory.partition('payments', 0).batches()[0]?.subarray(headerAt.crc)).toEqual(sent.subarray(headerAt.crc));
    const values: string[] = [];
    await using consumer = memory.consumer({ groupId: 'g', topics: ['payments'] });
    for await (const { value } of consumer) if (values.push(String(value)) === 50) break;
    expect(values).toEqual(new Array(50).fill('payment of 12.50'));
  });

  it('while the codec is loaded, later requests of the connection wait, and keep their order', async () => {
    const first = await compressBatch(plain, codec);
    const later = Array.from({ length: 5 }, (_, n) => batchOf({ producerId: 1, baseSequence: 50 + n }));
    expect(await store(cluster(), first, ...later)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it('bytes that are none of the codec’s are an error of the broker, as Kafka answers', async () => {
    const sent = await compressBatch(plain, codec);
    sent.fill(0xee, 61);
    writeBatchCrc(sent, sent.length);
    const memory = cluster();
    expect(await store(memory, sent)).toEqual([-1]);
    expect(memory.partition('payments', 0).logEndOffset).toBe(0);
  });

  it('bytes behind the batch are refused', async () => {
    const sent = await compressBatch(plain, codec);
    expect(await store(cluster(), Buffer.concat([sent, Buffer.alloc(1)]))).toEqual([87]);
  });

  it('an offset delta that is not the record’s place is refused, unlike in a plain batch', async () => {
    const damaged = Buffer.from(plain);
    // The first record has 23 bytes; the offset delta comes after length, attributes and timestamp delta.
    const deltaAt = batchHeaderBytes + 23 + 3;
    expect(damaged[deltaAt]).toBe(2);
    damaged[deltaAt] = 20;
    writeBatchCrc(damaged, damaged.length);
    expect(await store(cluster(), damaged)).toEqual([0]);
    expect(await store(cluster(), await compressBatch(damaged, codec))).toEqual([87]);
  });
});

it('M3: a batch that would fill the memory when decompressed is refused', async () => {
  const gzip = codecs.find(({ name }) => name === 'gzip')!;
  const sent = await compressBatch(batchOf({ producerId: 1 }), gzip);
  const bomb = await gzip.compress(Buffer.alloc(65 * 1024 * 1024));
  const batch = Buffer.concat([sent.subarray(0, batchHeaderBytes), bomb]);
  batch.writeInt32BE(batch.length - batchLengthOverheadBytes, headerAt.batchLength);
  writeBatchCrc(batch, batch.length);
  expect(batch.length).toBeLessThan(100_000);
  const memory = cluster();
  expect(await store(memory, batch)).toEqual([-1]);
  expect(memory.events.at(-1)).toMatchObject({ type: 'batch-damaged', reason: expect.stringContaining('67108864') });
});

it('M3: a codec whose package is not installed is refused, not stored unread', async () => {
  const sent = await compressBatch(batchOf({ producerId: 1 }), codecs[0]!);
  const unreadable: CompressionCodec = {
    ...codecs[0]!,
    decompress: () => {
      throw new Error('no such package');
    },
  };
  expect(await store(cluster([unreadable]), sent)).toEqual([-1]);
});

it('M7: with codecs that are given, compressed batches take no real time', async () => {
  const runtime = createSimulatedRuntime({ seed: 1 });
  const memory = createMemoryCluster({ runtime, codecs, topics: { payments: {} } });
  for (const [index, codec] of codecs.entries()) {
    const batch = await compressBatch(batchOf({ producerId: 1, baseSequence: index }), codec);
    const produced = memory.transport().produce(1, {
      acks: 'all',
      timeoutMs: 1_000,
      partitions: [{ topic: 'payments', partition: 0, batch }],
    });
    await runtime.settle();
    expect(await produced).toMatchObject([{ errorCode: 0 }]);
  }
});
