import { ProducerBatch } from '../accumulator/batch.ts';
import type { FlushTracker } from '../accumulator/flush-tracker.ts';
import { type CompressionCodec, sequenceAfter, splitBatch } from '../record-batch/index.ts';

/**
 * Rule C11, MESSAGE_TOO_LARGE: two batches that carry the records and the numbers of the one that was refused. Only for one
 * that is certainly not stored: the broker would take a half for something new.
 */
export function splitInTwo(
  whole: ProducerBatch,
  flushes: FlushTracker,
  codecs: readonly CompressionCodec[],
): [ProducerBatch, ProducerBatch] {
  const [firstBytes, secondBytes] = splitBatch(whole.bytes, codecs);
  const firstCount = Math.ceil(whole.recordCount / 2);
  const half = (bytes: Buffer, from: number, to: number): ProducerBatch => {
    const batch = new ProducerBatch(
      whole.queue,
      null,
      whole.createdAtMs,
      flushes.enterGroup(whole.flushGroup),
      'retrying',
    );
    batch.bytes = bytes;
    batch.chargedBytes = bytes.length;
    batch.recordCount = to - from;
    batch.maxTimestampMs = whole.maxTimestampMs;
    batch.producerId = whole.producerId;
    batch.epoch = whole.epoch;
    batch.baseSequence = whole.baseSequence < 0 ? -1 : sequenceAfter(whole.baseSequence, from);
    batch.isTracked = true;
    batch.attempts = whole.attempts;
    batch.left = true;
    batch.lastError = whole.lastError;
    batch.mayBeInFormerTopic = whole.mayBeInFormerTopic;
    batch.inheritSettlers(whole, from, to);
    return batch;
  };
  return [half(firstBytes, 0, firstCount), half(secondBytes, firstCount, whole.recordCount)];
}
