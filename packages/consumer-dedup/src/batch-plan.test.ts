import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Entry, groupByKey, nextOffsets, type Read, spread } from './batch-plan.ts';
import type { Outcome } from './outcome.ts';
import type { StoredRecord } from './store.ts';

const nowhere = { topic: null, partition: null, offset: null };

function entries(keys: readonly string[]): Read<string>[] {
  return keys.map((key, index) => ({
    message: key,
    index,
    key: Buffer.from(key),
    fingerprint: null,
    source: nowhere,
    note: null,
  }));
}

const record: StoredRecord = { processedAtMs: 0, source: nowhere, fingerprint: null, note: null, result: null };

describe('D5: keys of a batch', () => {
  it('are asked for once each, in an order that depends on the keys alone', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1, maxLength: 3 })), fc.array(fc.nat()), (keys, shuffle) => {
        const shuffled = keys
          .map((key, index) => ({ key, at: shuffle[index] ?? 0 }))
          .sort((a, b) => a.at - b.at)
          .map(({ key }) => key);
        const order = (of: readonly string[]) => groupByKey(entries(of)).map(({ key }) => key.toString());
        expect(order(keys)).toEqual(order(shuffled));
        expect(new Set(order(keys)).size).toBe(order(keys).length);
      }),
    );
  });

  it('every message gets the outcome of its own key', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'd')), (keys) => {
        const reads = entries(keys);
        const groups = groupByKey(reads);
        const processed = (key: Buffer): Outcome<string> => ({ status: 'processed', key, result: '', attempt: 1 });
        const found = new Map(groups.map((group) => [group, { outcome: processed(group.key), record }]));
        const outcomes = spread(reads, groups, found);
        expect(outcomes.map(({ key }) => key!.toString())).toEqual(keys);
        expect(outcomes.map(({ status }) => status)).toEqual(
          keys.map((key, index) => (keys.indexOf(key) === index ? 'processed' : 'duplicate')),
        );
      }),
    );
  });

  it('repeats of a key that was not processed share its fate', () => {
    const reads = entries(['a', 'a']);
    const groups = groupByKey(reads);
    const failed: Outcome<never> = {
      status: 'failed',
      key: (reads[0] as Entry<string>).key,
      reason: 'handler',
      error: 1,
    };
    const outcomes = spread(reads, groups, new Map([[groups[0]!, { outcome: failed, record: null }]]));
    expect(outcomes).toEqual([failed, failed]);
  });
});

describe('D2: offsets that may be stored', () => {
  const source = (partition: number, offset: bigint) => ({ topic: 't', partition, offset });
  const ok: Outcome = {
    status: 'duplicate',
    key: Buffer.from('k'),
    first: { processedAt: new Date(), source: nowhere, note: null, result: 1 },
  };
  const bad: Outcome = { status: 'failed', key: null, reason: 'message', error: 1 };

  it('end before the first message of the partition that may not be committed, whatever the order of the call', () => {
    expect(nextOffsets([source(0, 7n), source(0, 5n), source(0, 6n)], [ok, ok, bad])).toEqual([
      { topic: 't', partition: 0, nextOffset: 6n },
    ]);
  });

  it('are none when the first one may not be committed, and leave other partitions alone', () => {
    expect(nextOffsets([source(1, 5n), source(0, 9n)], [bad, ok])).toEqual([
      { topic: 't', partition: 0, nextOffset: 10n },
    ]);
  });
});
