import { describe, expect, test } from 'vitest';
import { FuzzFailure, fuzz, fuzzOnce } from './fuzz-run.ts';
import { type FuzzTarget, fuzzTargets } from './targets.ts';

const targets = await fuzzTargets();
const seed = 20_261_202;
const iterations = 5000;

describe(`${iterations} inputs a decoder, seed ${seed}`, async () => {
  const report = await fuzz({ targets, seed, isOver: (iteration) => iteration === iterations });
  const outcomesOf = (name: string): string[] => Object.keys(report.outcomes[name]!).sort();

  test('each ends in a typed error or in sound records, soon, and in bounded memory', () => {
    expect(report.iterations).toBe(iterations);
    for (const counts of Object.values(report.outcomes)) {
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(iterations);
    }
  });

  test('they reach every error code of a record batch', () => {
    expect(outcomesOf('record-batch')).toEqual([
      'CRC_MISMATCH',
      'DECOMPRESSED_TOO_LARGE',
      'DECOMPRESSION_FAILED',
      'INVALID_COUNT',
      'INVALID_LENGTH',
      'INVALID_RECORD',
      'TRAILING_BYTES',
      'TRUNCATED',
      'UNKNOWN_CODEC',
      'UNSUPPORTED_MAGIC',
      'decoded',
    ]);
  });

  test.each(['gzip', 'snappy', 'lz4', 'zstd'])('they reach both errors of %s', (codec) => {
    expect(outcomesOf(codec)).toEqual(['DECOMPRESSED_TOO_LARGE', 'DECOMPRESSION_FAILED', 'decoded']);
  });

  test('M3: the memory broker answers each with an error code, or takes it', () => {
    expect(outcomesOf('memory-broker')).toEqual([
      'accepted',
      'error -1',
      'error 10',
      'error 2',
      'error 53',
      'error 87',
    ]);
  });

  test('M4: a damaged snapshot is refused, never half read', () => {
    expect(outcomesOf('snapshot')).toEqual(['SnapshotError', 'decoded']);
  });

  test.each([
    ['api-versions-reply', ['MalformedReplyError', 'decoded']],
    ['init-producer-id-reply', ['MalformedReplyError', 'decoded']],
    ['metadata-reply', ['MalformedReplyError', 'decoded']],
    ['produce-reply', ['MalformedReplyError', 'decoded']],
    ['sasl-authenticate-reply', ['MalformedReplyError', 'read']],
    ['frames', ['FrameLengthError', 'read']],
  ])('what a Kafka broker sends (%s) is read, or a typed error that costs the connection', (name, outcomes) => {
    expect(outcomesOf(name)).toEqual(outcomes);
  });
});

describe('the fuzzer', () => {
  const stub = (decode: FuzzTarget['decode']): FuzzTarget => ({
    name: 'stub',
    generate: (random) => random.bytes(8),
    decode,
  });

  test('gives the same input for the same seed, target and iteration, and another for another', () => {
    const hex = (index: number, iteration: number) => fuzzOnce(targets[index]!, seed, iteration).input.toString('hex');
    expect(hex(0, 17)).toBe(hex(0, 17));
    expect(hex(0, 17)).not.toBe(hex(0, 18));
  });

  test('reports an error that is not typed, with the input and the command that replays it', async () => {
    const broken = stub((input) => {
      throw new RangeError(`offset ${input.length} is out of range`);
    });
    const run = () => fuzz({ targets: [broken], seed: 5, isOver: () => false });
    await expect(run()).rejects.toThrow(FuzzFailure);
    await expect(run()).rejects.toThrow(
      /RangeError[\s\S]*--seed 5 --target stub --iteration 0[\s\S]*input \(8 bytes\): [0-9a-f]{16}/,
    );
  });

  test('reports a decoder that changes its input', () => {
    const writing = stub((input) => String(input.fill(0).length));
    expect(() => fuzzOnce(writing, 5, 0)).toThrow('changed its input');
  });

  test('reports memory that grows past its bound', async () => {
    const kept: Buffer[] = [];
    const hoarding = stub(() => {
      if (kept.length < 40) kept.push(Buffer.alloc(16 * 1024 * 1024, 1));
      return 'kept';
    });
    let seen = 0;
    const hoardLate: FuzzTarget = {
      ...hoarding,
      decode: (input) => (seen++ > 2100 ? hoarding.decode(input) : 'waited'),
    };
    const run = fuzz({ targets: [hoardLate], seed: 5, isOver: (iteration) => iteration > 3000 });
    await expect(run).rejects.toThrow('memory grew');
  });
});
