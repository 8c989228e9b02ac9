import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { javaBatches } from '../../../vectors/java-batches.ts';
import { ConfigError } from '../../errors.ts';
import { batchHeaderBytes } from '../header.ts';
import { RecordBatchError } from '../record-batch-error.ts';
import type { CompressionCodec } from './codec.ts';
import { loadAvailableCodecs, loadCodec } from './load-codec.ts';
import { loadPeerPackage } from './peer-package.ts';
import { zstdCodec } from './zlib-codecs.ts';

const codecs = await loadAvailableCodecs();
const byName = new Map(codecs.map((codec) => [codec.name, codec]));
const limit = 1 << 20;
/** Compresses well, and is larger than a block of any of the formats. */
const text = Buffer.from('payment accepted; '.repeat(10_000));
/** Does not compress. */
const noise = Buffer.alloc(100_000);
for (let at = 0, state = 1; at < noise.length; at++) {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  noise[at] = state >>> 16;
}

function errorOf(decompress: () => unknown): RecordBatchError {
  try {
    decompress();
  } catch (error) {
    expect(error).toBeInstanceOf(RecordBatchError);
    return error as RecordBatchError;
  }
  throw new Error('No error');
}

test('all four codecs can be loaded where their packages are installed', () => {
  expect(codecs.map(({ name, id }) => [name, id])).toEqual([
    ['gzip', 1],
    ['snappy', 2],
    ['lz4', 3],
    ['zstd', 4],
  ]);
});

describe.each(codecs)('$name', (codec: CompressionCodec) => {
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['one byte', Buffer.from([7])],
    ['text', text],
    ['noise', noise],
    ['zeros', Buffer.alloc(200_000)],
  ])('%s comes out as it went in, and is not changed', async (_, bytes) => {
    const before = Buffer.from(bytes);
    const compressed = await codec.compress(bytes);
    expect(bytes.equals(before)).toBe(true);
    expect(before.equals(codec.decompress(compressed, bytes.length))).toBe(true);
  });

  test('any bytes come out as they went in', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 3000 }), async (bytes) => {
        expect(Buffer.from(codec.decompress(await codec.compress(bytes), limit)).equals(bytes)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test("decompresses what Java's client wrote", () => {
    for (const vector of javaBatches.filter(({ codecId }) => codecId === codec.id)) {
      const plain = javaBatches.find(
        ({ compression, baseSequence }) => compression === 'none' && baseSequence === vector.baseSequence,
      )!;
      const section = codec.decompress(vector.bytes.subarray(batchHeaderBytes), limit);
      expect(plain.bytes.subarray(batchHeaderBytes).equals(section)).toBe(true);
    }
  });

  test.each([
    ['text', text],
    ['noise', noise],
  ])('%s that is a byte larger than the limit is refused', async (_, bytes) => {
    const compressed = await codec.compress(bytes);
    expect(errorOf(() => codec.decompress(compressed, bytes.length - 1)).code).toBe('DECOMPRESSED_TOO_LARGE');
  });

  test('a small section that decompresses to a thousand times its size is refused', async () => {
    const compressed = await codec.compress(Buffer.alloc(64 << 20));
    const before = process.memoryUsage().rss;
    expect(errorOf(() => codec.decompress(compressed, limit)).code).toBe('DECOMPRESSED_TOO_LARGE');
    expect(process.memoryUsage().rss - before).toBeLessThan(32 << 20);
  });

  test('bytes that are cut off are refused at every length', async () => {
    const compressed = await codec.compress(text.subarray(0, 500));
    for (let length = 0; length < compressed.length; length++) {
      const decompress = () => codec.decompress(compressed.subarray(0, length), limit);
      // A snappy stream has no end mark: cut between blocks it is a shorter stream, which the record count then shows.
      if (codec.name === 'snappy' && length === 16) expect(decompress()).toHaveLength(0);
      else expect(errorOf(decompress).code).toBe('DECOMPRESSION_FAILED');
    }
  });

  test('plain records under a codec flag are refused', () => {
    const section = javaBatches[1]!.bytes.subarray(batchHeaderBytes);
    expect(['DECOMPRESSION_FAILED', 'DECOMPRESSED_TOO_LARGE']).toContain(
      errorOf(() => codec.decompress(section, limit)).code,
    );
  });
});

describe('snappy', () => {
  const snappy = byName.get('snappy')!;

  test("frames its blocks of 32 KiB as Java's client does", async () => {
    const framed = Buffer.from(await snappy.compress(text));
    expect(framed.subarray(0, 16).toString('hex')).toBe('82534e41505059000000000100000001');
    let blocks = 0;
    for (let at = 16; at < framed.length; at += 4 + framed.readInt32BE(at)) blocks++;
    expect(blocks).toBe(Math.ceil(text.length / 32_768));
  });

  test('reads one bare block, as some other clients write it', async () => {
    const framed = Buffer.from(await snappy.compress(text.subarray(0, 1000)));
    expect(text.subarray(0, 1000).equals(snappy.decompress(framed.subarray(20), limit))).toBe(true);
  });

  test('a block that declares an absurd size is refused before anything is allocated', () => {
    const bare = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0]);
    expect(errorOf(() => snappy.decompress(bare, limit)).code).toBe('DECOMPRESSED_TOO_LARGE');
    const framed = Buffer.concat([Buffer.from('82534e4150505900000000010000000100000007', 'hex'), bare]);
    expect(errorOf(() => snappy.decompress(framed, limit)).code).toBe('DECOMPRESSED_TOO_LARGE');
  });

  test.each([
    ['a length that never ends', 'ffffffffffff'],
    ['a block past the end', '82534e41505059000000000100000001000000ff0000'],
    ['a negative block length', '82534e41505059000000000100000001ffffffff0000'],
    ['a block length that leads back to itself', '82534e41505059000000000100000001fffffffc0000'],
    ['half a block length', '82534e415050590000000001000000010000'],
  ])('%s is refused', (_, hex) => {
    expect(errorOf(() => snappy.decompress(Buffer.from(hex, 'hex'), limit)).code).toBe('DECOMPRESSION_FAILED');
  });
});

describe('lz4', () => {
  const lz4 = byName.get('lz4')!;
  /** A Java frame whose bytes are changed at some places. */
  const javaFrame = javaBatches.find(({ compression }) => compression === 'lz4')!.bytes.subarray(batchHeaderBytes);
  const changed = (at: number, byte: number) =>
    Buffer.from(javaFrame.map((each, index) => (index === at ? byte : each)));

  test('starts with the magic, independent blocks and the checksum that Java checks', async () => {
    const frame = Buffer.from(await lz4.compress(text.subarray(0, 1000)));
    expect(frame.subarray(0, 7).toString('hex')).toBe(javaFrame.subarray(0, 7).toString('hex'));
  });

  test('a limit that only the exact size keeps is kept: blocks may hold less than they could', async () => {
    const frame = await lz4.compress(Buffer.alloc(300_000));
    expect(lz4.decompress(frame, 300_000)).toHaveLength(300_000);
    expect(errorOf(() => lz4.decompress(frame, 299_999)).code).toBe('DECOMPRESSED_TOO_LARGE');
  });

  test('a declared content size over the limit is refused', () => {
    const declaring = Buffer.concat([Buffer.from('04224d1868400000000001000000', 'hex'), Buffer.alloc(10)]);
    expect(errorOf(() => lz4.decompress(declaring, limit)).code).toBe('DECOMPRESSED_TOO_LARGE');
  });

  test.each([
    ['another magic', changed(0, 5)],
    ['another version', changed(4, 0xa0)],
    ['an unknown block size', changed(5, 0x30)],
    ['a wrong header checksum', changed(6, javaFrame[6]! ^ 1)],
    ['a block past the end', changed(7, 0xff)],
    ['bytes after the end', Buffer.concat([javaFrame, Buffer.from([0])])],
    ['two frames', Buffer.concat([javaFrame, javaFrame])],
  ])('a frame with %s is refused', (_, frame) => {
    expect(errorOf(() => lz4.decompress(frame, limit)).code).toBe('DECOMPRESSION_FAILED');
  });

  test.each([
    ['dependent blocks', 0x40],
    ['a dictionary', 0x61],
  ])('a frame with %s is refused, whatever its header checksum', (_, flags) => {
    for (let checksum = 0; checksum < 256; checksum++) {
      const frame = Buffer.from(javaFrame);
      frame[4] = flags;
      frame[6] = checksum;
      expect(errorOf(() => lz4.decompress(frame, limit)).code).toBe('DECOMPRESSION_FAILED');
    }
  });
});

describe('zstd', () => {
  test('a frame that asks for a larger window than its limit allows is refused', () => {
    // No records, but a window of 2^27 bytes.
    const frame = Buffer.from('28b52ffd0088010000', 'hex');
    const zstd = byName.get('zstd')!;
    expect(errorOf(() => zstd.decompress(frame, limit)).code).toBe('DECOMPRESSED_TOO_LARGE');
    expect(zstd.decompress(frame, 2 ** 27)).toHaveLength(0);
  });

  test('reads a window of 8 MiB under a small limit, since high levels write it for any content', () => {
    const { ZSTD_c_windowLog, ZSTD_c_contentSizeFlag } = zlib.constants;
    const frame = zlib.zstdCompressSync(text, { params: { [ZSTD_c_windowLog]: 23, [ZSTD_c_contentSizeFlag]: 0 } });
    expect(text.equals(byName.get('zstd')!.decompress(frame, text.length))).toBe(true);
  });

  test('is a ConfigError that names the Node version it needs, where zlib has none', () => {
    expect(() => zstdCodec({})).toThrow(ConfigError);
    expect(() => zstdCodec({})).toThrow(/22\.15/);
  });
});

test('a missing package is a ConfigError that says how to install it', async () => {
  const missing = loadPeerPackage('snappy', 'snappy', () => import(`no-such-package-${'snappy'}`));
  await expect(missing).rejects.toThrow(ConfigError);
  await expect(missing).rejects.toMatchObject({
    fields: ['compression'],
    message: expect.stringContaining('npm install snappy'),
  });
});

test('a codec is loaded by its name', async () => {
  expect(await loadCodec('gzip')).toMatchObject({ name: 'gzip', id: 1 });
});
