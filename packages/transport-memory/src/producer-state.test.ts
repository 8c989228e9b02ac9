import { placeBatch } from '@sendonce/producer-core/record-batch';
import { describe, expect, it } from 'vitest';
import { batchOf, type TestBatch } from './batches.testkit.ts';
import { LogBatch } from './log-batch.ts';
import { ProducerState } from './producer-state.ts';
import { profiles } from './profile.ts';

const expirationMs = 1_000;

function stateOf(profile: keyof typeof profiles): ProducerState {
  return new ProducerState({ rules: profiles[profile], producerIdExpirationMs: expirationMs });
}

function logBatch(baseOffset: number, appendedMs: number, batch: TestBatch): LogBatch {
  const bytes = batchOf({ producerId: 1, ...batch });
  placeBatch(bytes, BigInt(baseOffset), 0);
  return new LogBatch(bytes, appendedMs);
}

function ranges(state: ProducerState, producerId = 1n): string[] | null {
  const entry = state.find(producerId);
  return (
    entry?.batches.map(
      ({ baseSequence, lastSequence, baseOffset }) => `${baseSequence}-${lastSequence}@${baseOffset}`,
    ) ?? null
  );
}

describe('M2: what is remembered', () => {
  it('is the last five batches of each producer', () => {
    const state = stateOf('tutorial');
    for (let n = 0; n < 7; n++) state.note(logBatch(2 * n, 0, { baseSequence: 2 * n, count: 2 }));
    expect(ranges(state)).toEqual(['4-5@4', '6-7@6', '8-9@8', '10-11@10', '12-13@12']);
  });

  it('begins anew with a higher epoch', () => {
    const state = stateOf('tutorial');
    state.note(logBatch(0, 0, { baseSequence: 0, count: 3 }));
    state.note(logBatch(3, 0, { epoch: 1, baseSequence: 0, count: 1 }));
    expect(ranges(state)).toEqual(['0-0@3']);
    expect(state.find(1n)?.epoch).toBe(1);
  });

  it('says nothing of batches without a producer id', () => {
    const state = stateOf('tutorial');
    for (const producerId of [-1, -2]) state.note(logBatch(0, 0, { producerId }));
    expect(state.size).toBe(0);
  });
});

describe('M5: what is forgotten', () => {
  it('tutorial: who stored nothing for the expiration time, whatever the records say', () => {
    const state = stateOf('tutorial');
    state.note(logBatch(0, 5_000, { timestampMs: 0 }));
    state.note(logBatch(1, 5_001, { producerId: 2, timestampMs: 90_000 }));
    expect(state.expire(5_999)).toEqual([]);
    expect(state.expire(6_000)).toEqual([1n]);
    expect(state.expire(6_001)).toEqual([2n]);
  });

  it('kafka-4: whose newest record is dated that long ago, whenever it was stored', () => {
    const state = stateOf('kafka-4');
    state.note(logBatch(0, 5_000, { timestampMs: 0 }));
    state.note(logBatch(1, 0, { producerId: 2, timestampMs: 9_000 }));
    expect(state.expire(5_000)).toEqual([1n]);
    expect(state.expire(9_999)).toEqual([]);
    expect(state.expire(10_000)).toEqual([2n]);
  });

  it('kafka-4: nothing between two of the checks: a late batch finds its producer’s entry', () => {
    const state = stateOf('kafka-4');
    state.note(logBatch(0, 0, { baseSequence: 0, timestampMs: 0 }));
    state.note(logBatch(1, 50 * expirationMs, { baseSequence: 1, timestampMs: 50 * expirationMs }));
    expect(ranges(state)).toEqual(['0-0@0', '1-1@1']);
  });

  it('tutorial: a batch that comes after the time is the first of a new entry, in a replay as well', () => {
    const state = stateOf('tutorial');
    state.note(logBatch(0, 0, { baseSequence: 0, count: 2 }));
    state.note(logBatch(2, expirationMs, { baseSequence: 0 }));
    expect(ranges(state)).toEqual(['0-0@2']);
  });

  it('tutorial: batches that retention removed, and the entry with the last of them', () => {
    const state = stateOf('tutorial');
    for (let n = 0; n < 3; n++) state.note(logBatch(2 * n, 0, { baseSequence: 2 * n, count: 2 }));
    expect(state.forgetBefore(3)).toEqual([]);
    expect(ranges(state)).toEqual(['2-3@2', '4-5@4']);
    expect(state.forgetBefore(6)).toEqual([1n]);
    expect(state.size).toBe(0);
  });

  it('kafka-4: nothing, when retention removes the records', () => {
    const state = stateOf('kafka-4');
    state.note(logBatch(0, 0, {}));
    expect(state.forgetBefore(1)).toEqual([]);
    expect(ranges(state)).toEqual(['0-0@0']);
  });
});
