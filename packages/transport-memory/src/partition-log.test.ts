import { placeBatch } from '@sendonce/producer-core/record-batch';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchOf } from './batches.testkit.ts';
import { LogBatch } from './log-batch.ts';
import { PartitionLog } from './partition-log.ts';

function append(log: PartitionLog, count: number, leaderEpoch = 0, timestampMs = 0): LogBatch {
  const bytes = batchOf({ count, timestampMs });
  placeBatch(bytes, BigInt(log.logEndOffset), leaderEpoch);
  const batch = new LogBatch(bytes, 0);
  log.append(batch);
  return batch;
}

const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('append' as const), count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('epoch' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom('truncate', 'delete'),
      share: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1.2, noNaN: true })),
    }),
  },
);

describe('a log', () => {
  it('agrees with a plain list, whatever is appended, truncated and deleted', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), fc.integer({ min: 1, max: 600 }), (actions, segmentBytes) => {
        const log = new PartitionLog({ segmentBytes, firstOffset: 10 });
        let model: LogBatch[] = [];
        let logStartOffset = 10;
        let leaderEpoch = 0;
        for (const each of actions) {
          const span = log.logEndOffset - log.logStartOffset;
          if (each.type === 'append') model.push(append(log, each.count, leaderEpoch));
          else if (each.type === 'epoch') leaderEpoch++;
          else if (each.type === 'truncate') {
            const offset = log.logStartOffset + Math.floor(each.share * span);
            const removed = log.truncateTo(offset);
            expect(removed).toEqual(model.filter(({ lastOffset }) => lastOffset >= offset));
            model = model.filter(({ lastOffset }) => lastOffset < offset);
            logStartOffset = Math.min(logStartOffset, log.logEndOffset);
          } else if (each.type === 'delete') {
            const offset = log.logStartOffset + Math.floor(each.share * span);
            log.deleteBefore(offset);
            logStartOffset = Math.max(logStartOffset, Math.min(offset, log.logEndOffset));
          }
          const readable = model.filter(({ lastOffset }) => lastOffset >= logStartOffset);
          expect([...log.batches()]).toEqual(readable);
          for (const count of [1, 3]) expect(log.newestBatches(count)).toEqual(readable.slice(-count));
          expect(log.logStartOffset).toBe(logStartOffset);
          for (const batch of readable) {
            expect(log.batchesFrom(batch.lastOffset).next().value).toBe(batch);
            const later = readable.find(
              ({ header }) => header.partitionLeaderEpoch > batch.header.partitionLeaderEpoch,
            );
            expect(log.endOfEpoch(batch.header.partitionLeaderEpoch)).toEqual({
              leaderEpoch: batch.header.partitionLeaderEpoch,
              endOffset: later?.baseOffset ?? log.logEndOffset,
            });
          }
          if (readable.length > 0) expect(log.logEndOffset).toBe(readable.at(-1)!.nextOffset);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('takes no batch for another offset than the next', () => {
    const log = new PartitionLog({ segmentBytes: 1_000, firstOffset: 0 });
    const batch = append(log, 2);
    expect(() => log.append(batch)).toThrow(/can't follow a log that ends at 2/);
  });

  it('moves its start back when a cut takes the batch that it began in', () => {
    const log = new PartitionLog({ segmentBytes: 1_000, firstOffset: 0 });
    append(log, 2);
    append(log, 4);
    log.deleteBefore(4);
    log.truncateTo(4);
    expect([log.logStartOffset, log.logEndOffset]).toEqual([2, 2]);
    expect([...log.batches()]).toEqual([]);
  });

  it('counts its bytes', () => {
    const log = new PartitionLog({ segmentBytes: 200, firstOffset: 0 });
    const sizeBytes = append(log, 1).sizeBytes;
    for (let n = 0; n < 5; n++) append(log, 1);
    expect([log.sizeBytes, log.segmentBaseOffsets]).toEqual([6 * sizeBytes, [0, 2, 4]]);
    log.deleteBefore(3);
    expect([log.sizeBytes, log.segmentBaseOffsets]).toEqual([4 * sizeBytes, [2, 4]]);
    log.truncateTo(5);
    expect([log.sizeBytes, log.logEndOffset]).toEqual([3 * sizeBytes, 5]);
  });

  it('forgets the epochs of what was deleted', () => {
    const log = new PartitionLog({ segmentBytes: 200, firstOffset: 0 });
    for (let epoch = 0; epoch < 6; epoch++) append(log, 2, epoch);
    log.deleteBefore(7);
    expect(log.endOfEpoch(2)).toEqual({ leaderEpoch: -1, endOffset: 7 });
    expect(log.endOfEpoch(3)).toEqual({ leaderEpoch: 3, endOffset: 8 });
    expect(log.endOfEpoch(9)).toEqual({ leaderEpoch: 5, endOffset: 12 });
  });

  it('lets segments go by size and by age, whole, and never the active one or what is not replicated', () => {
    const log = new PartitionLog({ segmentBytes: 200, firstOffset: 0 });
    for (let n = 0; n < 10; n++) append(log, 1, 0, n * 100);
    const never = Number.POSITIVE_INFINITY;
    const { sizeBytes } = log;
    expect(log.retainedFrom({ retentionBytes: never, retentionMs: never }, 1e9, 10)).toBe(0);
    expect(log.retainedFrom({ retentionBytes: sizeBytes * 0.6, retentionMs: never }, 0, 10)).toBe(4);
    expect(log.retainedFrom({ retentionBytes: 0, retentionMs: never }, 0, 10)).toBe(8);
    expect(log.retainedFrom({ retentionBytes: 0, retentionMs: never }, 0, 5)).toBe(4);
    expect(log.retainedFrom({ retentionBytes: never, retentionMs: 500 }, 1_000, 10)).toBe(4);
  });
});
