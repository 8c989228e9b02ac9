import { expect, test } from 'vitest';
import { encodeRawBatch } from './raw-batch.ts';

test('a raw batch is byte for byte what a Kafka 4.1 broker accepted', () => {
  // The first of 38 batches that were sent to a real Apache Kafka 4.1.0 broker; it stored this one.
  const accepted =
    '000000000000000000000049ffffffff025e6a8a880000000000020000018bcfe568000000018bcfe56800000000000000004d000000000000' +
    '000000030e000000010278000e000002010278000e00000401027800';
  const batch = encodeRawBatch({
    producerId: 77n,
    epoch: 0,
    baseSequence: 0,
    values: ['x', 'x', 'x'],
    timestampMs: 1_700_000_000_000,
  });
  expect(batch.toString('hex')).toBe(accepted);
});
