import { describe, expect, test } from 'vitest';
import { Partition, sequences } from './partition-sequencer.testkit.ts';

describe('C8: numbers that were not used', () => {
  test('go back from the newest to the first that left', () => {
    const partition = new Partition().open();
    const [left, second, third] = partition.add(3);
    const [a, b, c] = partition.drain();
    partition.retry(a!);
    partition.notSent(b!);
    expect(second!.baseSequence).toBe(4);
    partition.notSent(c!);
    expect([left!, second!, third!].map(({ baseSequence }) => baseSequence)).toEqual([2, -1, -1]);
    expect([second!.isTracked, third!.isTracked]).toEqual([false, false]);
    expect(partition.queue.ready).toEqual([second, third]);
    expect(partition.sequencer.nextSequence).toBe(4);
  });

  test('go back all of them when none left', () => {
    const partition = new Partition().open();
    const batches = partition.add(3);
    for (const attempt of partition.drain()) partition.notSent(attempt);
    expect(partition.queue.ready).toEqual(batches);
    expect(partition.sequencer).toMatchObject({ nextSequence: 2, numbered: [] });
  });

  test('stay with a batch whose first attempt is out', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [out, notSent] = partition.drain();
    partition.notSent(notSent!);
    expect(partition.sequencer.numbered).toEqual([out!.batch]);
    expect(partition.sequencer.nextSequence).toBe(4);
  });

  test('go back when the newest was refused before it left, and nothing has to be resolved', () => {
    const partition = new Partition().open();
    const [batch] = partition.add(1);
    partition.notSentForGood(partition.only());
    expect(partition.sequencer).toMatchObject({ state: 'flowing', nextSequence: 2, numbered: [] });
    expect(partition.forgotten.at(-1)).toBe(batch);
    expect(partition.resolutions).toEqual([]);
  });

  test('do not go back when a later batch has left: the gap is resolved', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [refused, later] = partition.drain();
    partition.notSentForGood(refused!);
    expect(partition.resolutions).toEqual(['refused']);
    expect(partition.sequencer.numbered).toEqual([refused!.batch, later!.batch]);
  });

  test('do not go back while the partition is resolved, and do when the same epoch goes on', () => {
    const partition = new Partition().open();
    const [late, second] = partition.add(2);
    const [a, b] = partition.drain();
    partition.expire(late!);
    partition.notSent(b!);
    expect(second).toMatchObject({ state: 'resolving', baseSequence: 4 });
    expect(partition.queue.ready).toEqual([]);
    partition.stored(a!, 2n);
    expect(partition.queue.ready).toEqual([second]);
    expect(second!.baseSequence).toBe(-1);
    expect(partition.sequencer).toMatchObject({ state: 'flowing', nextSequence: 4 });
  });

  test('stay with a batch that is refused for good while the partition is resolved', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [late, second] = partition.drain();
    partition.expire(late!.batch);
    partition.notSentForGood(second!);
    expect(partition.sequencer.numbered).toEqual([late!.batch, second!.batch]);
    expect(partition.resolutions).toEqual(['delivery-timeout']);
  });
});

describe('C5, C6: who may leave', () => {
  test('after a split the sixth of a span waits until the oldest is settled', () => {
    const partition = new Partition().open();
    partition.add(5);
    const [oldest, ...later] = partition.drain();
    partition.split(later.pop()!);
    for (const [index, attempt] of later.entries()) partition.stored(attempt, BigInt(4 + 2 * index));
    partition.stored(partition.only(), 10n);
    expect(partition.drain()).toEqual([]);
    partition.stored(oldest!, 2n);
    expect(sequences(partition.drain())).toEqual([11]);
  });

  test('a batch refused as out of order leaves again when its predecessor is stored, the oldest still out or not', () => {
    const partition = new Partition().open();
    partition.add(3);
    const [, second, third] = partition.drain();
    partition.outOfOrder(third!);
    expect(partition.drain()).toEqual([]);
    partition.stored(second!, 4n);
    expect(sequences(partition.drain())).toEqual([6]);
  });

  test('a batch refused as out of order leaves again when it has become the oldest', () => {
    const partition = new Partition().open();
    partition.add(3);
    const [first, second, third] = partition.drain();
    partition.retry(first!);
    partition.stored(second!, 4n);
    partition.outOfOrder(third!);
    partition.outOfOrder(partition.only());
    expect(partition.acknowledged.at(-1)).toEqual([2, -1n]);
    expect(partition.only().batch.baseSequence).toBe(6);
  });

  test('out of order behind another batch starts no resolution', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [, second] = partition.drain();
    partition.outOfOrder(second!);
    expect(partition.resolutions).toEqual([]);
    expect(second!.batch.state).toBe('retrying');
  });
});

describe('C9: what an acknowledged batch proves of the earlier ones', () => {
  test('those that are out or were, are stored', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.stored(second!, 4n);
    expect(first!.batch.knownStored).toBe(true);
  });

  test('nothing of one that never left', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.notSent(first!);
    partition.stored(second!, 4n);
    expect(first!.batch.fate).toBe('not-stored');
  });

  test('nothing of one whose attempts were all refused', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.refuseForNow(first!);
    partition.stored(second!, 4n);
    expect(first!.batch.fate).toBe('not-stored');
  });

  test('nothing without idempotence', () => {
    const partition = new Partition({ idempotence: false });
    partition.add(2);
    const [first, second] = partition.drain();
    partition.stored(second!, 2n);
    expect(first!.batch.fate).toBe('unknown');
  });

  test('one that is known to be stored needs no resolution, whether the broker has forgotten it or its time is up', () => {
    for (const end of ['forgotten', 'late'] as const) {
      const partition = new Partition().open();
      partition.add(2);
      const [first, second] = partition.drain();
      partition.retry(first!);
      partition.stored(second!, 4n);
      if (end === 'forgotten') partition.outOfOrder(partition.only());
      else partition.expire(first!.batch);
      expect(partition.acknowledged.at(-1)).toEqual([2, -1n]);
      expect(partition.resolutions).toEqual([]);
      expect(partition.sequencer.numbered).toEqual([]);
      expect(partition.forgotten).toContain(first!.batch);
    }
  });

  test('a failed one whose answer still comes is told nothing more, and the partition flows on', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [late, second] = partition.drain();
    partition.expire(late!.batch);
    partition.stored(second!, 4n);
    expect(partition.sequencer.state).toBe('resolving');
    partition.outOfOrder(late!);
    expect(partition.sequencer.state).toBe('flowing');
    expect(partition.acknowledged).toEqual([
      [0, 0n],
      [4, 4n],
    ]);
    expect(partition.bumps).toEqual([]);
  });
});

describe('C9: while a partition is resolved', () => {
  test('a question whose connection ends begins the round again: whoever answers next may know less than who refused before', () => {
    const partition = new Partition().open();
    partition.add(3);
    const [failed, second, third] = partition.drain();
    partition.lose(failed!, second!, third!);
    partition.expire(failed!.batch);
    partition.outOfOrder(partition.only());
    const lost = partition.only();
    expect(lost.batch).toBe(third!.batch);
    partition.lose(lost);
    expect(partition.only().batch).toBe(second!.batch);
  });

  test('batches that waited for a retry, and those that come back, are resolving', () => {
    const partition = new Partition().open();
    partition.add(3);
    const [first, second, third] = partition.drain();
    partition.retry(second!);
    expect(second!.batch.state).toBe('retrying');
    partition.expire(first!.batch);
    partition.retry(third!);
    expect([second!.batch.state, third!.batch.state]).toEqual(['resolving', 'resolving']);
    expect(partition.resolutions).toEqual(['delivery-timeout']);
  });

  test('a second failure is part of it', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.expire(first!.batch);
    partition.expire(second!.batch);
    partition.outOfOrder(first!);
    partition.outOfOrder(second!);
    expect(partition.resolutions).toEqual(['delivery-timeout']);
    expect(partition.bumps).toMatchObject([{ trigger: 'delivery-timeout', renumbered: 0 }]);
  });

  test('a round that began again because its connection ended counts from there, and has to begin a second after that', () => {
    const afterLossAt = (restartMs: number, lastQuestionMs = restartMs) => {
      const partition = new Partition().open();
      partition.add(3);
      partition.lose(...partition.drain());
      // The retry that shows the trouble, then the first round.
      for (let answer = 0; answer < 4; answer++) partition.outOfOrder(partition.only());
      partition.nowMs = 1_000;
      partition.sequencer.resume(1_000);
      partition.outOfOrder(partition.only());
      const lost = partition.only();
      partition.nowMs = restartMs;
      lost.batch.lostAtMs = 1_000;
      partition.lane.connection++;
      partition.sequencer.attemptEnded(lost, true);
      partition.sequencer.connectionLost();
      partition.sequencer.retriable(lost.batch, restartMs);
      for (const expected of [2, 4, 6]) {
        if (expected === 4) partition.nowMs = lastQuestionMs;
        const question = partition.only();
        expect(question.batch.baseSequence).toBe(expected);
        partition.outOfOrder(question);
      }
      return partition;
    };
    expect(afterLossAt(2_000).bumps).toHaveLength(1);
    const tooSoon = afterLossAt(1_999);
    expect(tooSoon.bumps).toEqual([]);
    expect(tooSoon.resumeTimes.at(-1)).toBe(2_000);
    // However late its last question.
    const tooSoonAtFirst = afterLossAt(1_500, 2_500);
    expect(tooSoonAtFirst.bumps).toEqual([]);
    expect(tooSoonAtFirst.only().batch.baseSequence).toBe(2);
  });

  test('what starts again in the next epoch is as if it had never left', () => {
    const partition = new Partition().open();
    const [batch] = partition.add(1);
    const attempt = partition.only();
    partition.sequencer.attemptEnded(attempt, true);
    batch!.unanswered++;
    partition.sequencer.outOfOrder(batch!, 'out-of-order', 0n, 0);
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toHaveLength(1);
    expect(batch).toMatchObject({ fate: 'not-stored', state: 'ready', baseSequence: -1, left: false });
  });
});

describe('C11: a broker is suspected of having lost what it acknowledged', () => {
  const refusedInFull = (
    partition: Partition,
    trigger: 'out-of-order' | 'unknown-producer',
    logStartOffset = 0n,
  ): boolean => {
    partition.add(1);
    for (let answer = 0; answer < 2; answer++) partition.outOfOrder(partition.only(), trigger, logStartOffset);
    return partition.bumps.at(-1)!.dataLossSuspected;
  };

  test('not when it acknowledged nothing in this epoch', () => {
    const partition = new Partition();
    expect(refusedInFull(partition, 'out-of-order')).toBe(false);
    partition.stored(partition.only(), 0n);
    expect(refusedInFull(partition, 'out-of-order')).toBe(true);
    for (let answer = 0; answer < 2; answer++) partition.outOfOrder(partition.only());
    expect(partition.bumps.map(({ dataLossSuspected }) => dataLossSuspected)).toEqual([false, true, false]);
  });

  test('not when the oldest failed meanwhile, so that its own fate is open', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [oldest, second] = partition.drain();
    partition.outOfOrder(oldest!);
    partition.expire(oldest!.batch);
    partition.outOfOrder(second!);
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toMatchObject([{ trigger: 'out-of-order', renumbered: 1, dataLossSuspected: false }]);
  });

  test('not by a resolution that began with a delivery timeout: only by the answers that the rule names', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [oldest, late] = partition.drain();
    partition.expire(late!.batch);
    partition.outOfOrder(oldest!);
    partition.outOfOrder(late!);
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toMatchObject([{ trigger: 'delivery-timeout', renumbered: 1, dataLossSuspected: false }]);
  });

  test('when it knows nothing of the producer although the last acknowledged record is still in its log', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.stored(second!, 4n);
    partition.stored(first!, 2n);
    expect(refusedInFull(partition, 'unknown-producer', 5n)).toBe(true);
  });

  test('not when it never said at which offset it stored', () => {
    const partition = new Partition();
    partition.add(1);
    partition.stored(partition.only(), -1n);
    expect(refusedInFull(partition, 'unknown-producer', 0n)).toBe(false);
  });

  test('not from the moment on at which it may have forgotten the producer', () => {
    const before = new Partition().open();
    before.nowMs = 499_999;
    expect(refusedInFull(before, 'unknown-producer')).toBe(true);
    const after = new Partition().open();
    after.nowMs = 500_000;
    expect(refusedInFull(after, 'unknown-producer')).toBe(false);
  });
});

test('without idempotence a failed batch is forgotten at once, and its late answer changes nothing', () => {
  const partition = new Partition({ idempotence: false });
  partition.add(1);
  const attempt = partition.only();
  partition.expire(attempt.batch);
  expect(partition.sequencer.numbered).toEqual([]);
  expect(partition.forgotten).toEqual([attempt.batch]);
  partition.outOfOrder(attempt);
  expect(partition.sequencer.state).toBe('flowing');
});

describe('C9: a log that went back', () => {
  test('an offset that is not above one acknowledged earlier proves nothing about the batches before it', () => {
    const partition = new Partition();
    partition.add(1);
    partition.stored(partition.only(), 84n);
    partition.add(3);
    const [lost, second, third] = partition.drain();
    partition.lose(lost!);
    partition.stored(second!, 39n);
    expect(partition.logsWentBack).toBe(1);
    partition.stored(third!, 41n);
    expect(partition.logsWentBack).toBe(1);
    expect(partition.acknowledged).toEqual([
      [0, 84n],
      [4, 39n],
      [6, 41n],
    ]);
    expect(lost!.batch.knownStored).toBe(false);
    // It is asked for again, alone: that leader answers for nothing that it was not asked.
    partition.add(1);
    const again = partition.only();
    expect(again.batch).toBe(lost!.batch);
    partition.outOfOrder(again);
    const asked = partition.only();
    expect(asked.batch).toBe(lost!.batch);
    partition.outOfOrder(asked);
    expect(partition.acknowledged).toHaveLength(3);
  });

  test('the gate closes: the leader is another than the one that opened it', () => {
    const partition = new Partition();
    partition.add(1);
    partition.stored(partition.only(), 84n);
    partition.add(1);
    partition.stored(partition.only(), 84n);
    expect(partition.logsWentBack).toBe(1);
    partition.add(2);
    expect(partition.drain()).toHaveLength(1);
  });

  test('it shows after a bump too, when sequences begin again', () => {
    const partition = new Partition();
    partition.add(1);
    partition.stored(partition.only(), 84n);
    const [failed] = partition.add(1);
    partition.only();
    partition.expire(failed!);
    partition.lose(failed!.attempt!);
    partition.nowMs += 2_000;
    partition.sequencer.resume(partition.nowMs);
    expect(partition.bumps).toMatchObject([{ dataLossSuspected: false }]);
    partition.add(1);
    partition.stored(partition.only(), 12n);
    expect(partition.logsWentBack).toBe(1);
  });

  test('one loss is told once: neither again after the bump that told it, nor by a bump after the offset', () => {
    const refused = new Partition();
    refused.add(1);
    refused.stored(refused.only(), 84n);
    refused.add(1);
    refused.outOfOrder(refused.only());
    refused.outOfOrder(refused.only());
    expect(refused.bumps).toMatchObject([{ dataLossSuspected: true }]);
    refused.stored(refused.only(), 12n);
    expect(refused.logsWentBack).toBe(0);

    const wentBack = new Partition();
    wentBack.add(1);
    wentBack.stored(wentBack.only(), 84n);
    wentBack.add(2);
    const [lost, later] = wentBack.drain();
    wentBack.lose(lost!);
    wentBack.stored(later!, 12n);
    expect(wentBack.logsWentBack).toBe(1);
    wentBack.outOfOrder(wentBack.only());
    wentBack.outOfOrder(wentBack.only());
    wentBack.nowMs += 2_000;
    wentBack.sequencer.resume(wentBack.nowMs);
    while (wentBack.bumps.length === 0) wentBack.outOfOrder(wentBack.only());
    expect(wentBack.bumps).toMatchObject([{ dataLossSuspected: false }]);
  });

  test('a late answer for an earlier batch has a lower offset, and that is no sign', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.lose(first!);
    partition.stored(second!, 12n);
    partition.stored(partition.only(), 10n);
    expect(partition.logsWentBack).toBe(0);
    expect(partition.acknowledged).toEqual([
      [0, 0n],
      [4, 12n],
      [2, 10n],
    ]);
  });

  test('a topic that was made again begins at offset 0, and that is no sign', () => {
    const partition = new Partition();
    partition.add(1);
    partition.stored(partition.only(), 84n);
    partition.sequencer.topicRecreated();
    partition.add(2);
    const [first, ...others] = partition.drain();
    expect(others).toEqual([]);
    partition.stored(first!, 0n);
    expect(partition.logsWentBack).toBe(0);
  });

  test('a batch that was out when the topic was made again answers for itself', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.sequencer.topicRecreated();
    partition.lose(first!);
    partition.stored(second!, 0n);
    expect(first!.batch.knownStored).toBe(false);
  });
});

describe('C11: no loss is suspected', () => {
  test('by a producer to which nothing was acknowledged yet, whatever the broker says of its log', () => {
    const partition = new Partition();
    partition.add(1);
    partition.outOfOrder(partition.only(), 'out-of-order', -1n);
    partition.outOfOrder(partition.only(), 'out-of-order', -1n);
    expect(partition.bumps).toMatchObject([{ dataLossSuspected: false }]);
  });

  test('when what was acknowledged was deleted: a broker that restarted then remembers an older batch as the last one', () => {
    const partition = new Partition().open();
    partition.add(1);
    partition.outOfOrder(partition.only(), 'out-of-order', 2n);
    partition.outOfOrder(partition.only(), 'out-of-order', 2n);
    expect(partition.bumps).toMatchObject([{ trigger: 'out-of-order', dataLossSuspected: false }]);
  });

  test('while one of the acknowledged records is still there, it is', () => {
    const partition = new Partition().open();
    partition.add(1);
    partition.outOfOrder(partition.only(), 'out-of-order', 1n);
    partition.outOfOrder(partition.only(), 'out-of-order', 1n);
    expect(partition.bumps).toMatchObject([{ trigger: 'out-of-order', dataLossSuspected: true }]);
  });

  test('when a batch that never left is the gap before those that were refused', () => {
    const partition = new Partition().open();
    partition.add(3);
    const [stored, neverLeft, behind] = partition.drain();
    partition.lose(stored!);
    partition.outOfOrder(behind!);
    partition.notSent(neverLeft!);
    // The leader restarted: it recognises only the last batch it has, by which the first question is settled.
    partition.outOfOrder(partition.only());
    partition.stored(partition.only(), 2n);
    partition.outOfOrder(partition.only());
    partition.nowMs += 2_000;
    partition.sequencer.resume(partition.nowMs);
    while (partition.bumps.length === 0) partition.outOfOrder(partition.only());
    expect(partition.bumps).toMatchObject([{ trigger: 'out-of-order', renumbered: 2, dataLossSuspected: false }]);
  });
});

describe('what is no sign of a loss', () => {
  test('offsets in any order, without idempotence', () => {
    const partition = new Partition({ idempotence: false });
    partition.add(2);
    const [first, second] = partition.drain();
    partition.stored(second!, 10n);
    partition.stored(first!, 4n);
    expect(partition.logsWentBack).toBe(0);
  });

  test('a refusal in an epoch in which nothing was acknowledged yet', () => {
    const partition = new Partition().open();
    const [failed] = partition.add(1);
    partition.only();
    partition.expire(failed!);
    partition.lose(failed!.attempt!);
    partition.nowMs += 2_000;
    partition.sequencer.resume(partition.nowMs);
    expect(partition.bumps).toHaveLength(1);
    partition.add(1);
    partition.outOfOrder(partition.only());
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toHaveLength(2);
    expect(partition.bumps[1]).toMatchObject({ dataLossSuspected: false });
  });
});
