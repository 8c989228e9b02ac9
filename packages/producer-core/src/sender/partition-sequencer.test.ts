import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProducerBatch } from '../accumulator/batch.ts';
import type { Attempt } from './attempt.ts';
import { Partition, sequences } from './partition-sequencer.testkit.ts';
import { lastEpoch } from './partition-sequencer.ts';

describe('numbers', () => {
  test('C2: a batch gets its numbers when it leaves, in the order of leaving', () => {
    const partition = new Partition().open();
    const [first, second] = partition.add(2);
    expect(first!.baseSequence).toBe(-1);
    partition.drain();
    expect([first!.baseSequence, second!.baseSequence]).toEqual([2, 4]);
  });

  test('C3, C4: batches that come back keep their numbers and go in sequence order, before new ones', () => {
    const partition = new Partition().open();
    partition.add(3);
    const [a, b, c] = partition.drain();
    partition.add(1);
    partition.lose(c!, a!, b!);
    expect(partition.only().batch.baseSequence).toBe(2);
    partition.stored(partition.sequencer.numbered[0]!.attempt!, 2n);
    expect(sequences(partition.drain())).toEqual([4, 6, 8]);
  });

  test('C10: sequence numbers wrap after 2^31-1', () => {
    const partition = new Partition().open();
    partition.sequencer.nextSequence = 2_147_483_647;
    const [first, second] = partition.add(2);
    partition.drain();
    expect([first!.baseSequence, second!.baseSequence]).toEqual([2_147_483_647, 1]);
  });

  test('C10, P10: when epochs are used up nothing leaves until there is a new producer id', () => {
    const partition = new Partition({ epoch: lastEpoch });
    partition.add(2);
    const attempt = partition.only();
    partition.expire(attempt.batch);
    partition.lose(attempt);
    expect(partition.identityRequests).toBe(1);
    expect(partition.drain()).toEqual([]);
    partition.sequencer.takeIdentity({ producerId: 8n, epoch: 0 });
    expect(partition.only().batch).toMatchObject({ producerId: 8n, epoch: 0, baseSequence: 0 });
  });
});

describe('the window', () => {
  test('C5: five in flight, and the sixth waits', () => {
    const partition = new Partition().open();
    partition.add(7);
    expect(sequences(partition.drain())).toEqual([2, 4, 6, 8, 10]);
  });

  test('C5: batches acknowledged early count for the span until the oldest is settled', () => {
    const partition = new Partition().open();
    partition.add(8);
    const [oldest, ...later] = partition.drain();
    for (const [index, attempt] of later.entries()) partition.stored(attempt, BigInt(4 + 2 * index));
    expect(partition.drain()).toEqual([]);
    partition.stored(oldest!, 2n);
    expect(sequences(partition.drain())).toEqual([12, 14, 16]);
  });

  test('C6: while the oldest waits for a retry nothing later is sent', () => {
    const partition = new Partition().open();
    partition.add(4);
    const [oldest, second, third, fourth] = partition.drain();
    partition.retry(oldest!);
    partition.retry(second!);
    partition.stored(fourth!, 8n);
    partition.add(2);
    expect(third!.batch.attempt).not.toBeNull();
    const [again] = partition.drain();
    expect(again!.batch.baseSequence).toBe(2);
  });

  test('C7: one in flight until the leader has acknowledged one', () => {
    const partition = new Partition();
    partition.add(4);
    const first = partition.only();
    partition.stored(first, 0n);
    expect(partition.drain()).toHaveLength(3);
  });

  test('C7: a broken connection and a leader change close the gate', () => {
    const partition = new Partition().open();
    partition.add(3);
    partition.lose(...partition.drain());
    const first = partition.only();
    partition.stored(first, 2n);
    expect(partition.drain()).toHaveLength(2);
    partition.sequencer.leaderChanged(partition.nowMs);
    expect(partition.sequencer.gateIsOpen(partition.lane, partition.nowMs)).toBe(false);
  });

  test('C7: an answer that was under way when the connection broke opens no gate', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.lose(second!);
    partition.stored(first!, 2n);
    expect(partition.sequencer.gateIsOpen(partition.lane, partition.nowMs)).toBe(false);
  });

  test('C7, P20: the gate closes before the broker can have forgotten an idle producer', () => {
    const partition = new Partition().open();
    partition.nowMs = 499_999;
    expect(partition.sequencer.gateIsOpen(partition.lane, partition.nowMs)).toBe(true);
    partition.nowMs = 500_000;
    partition.add(3);
    const first = partition.only();
    partition.stored(first, 2n);
    expect(partition.drain()).toHaveLength(2);
  });

  test('C8: batches that never left give their numbers back', () => {
    const partition = new Partition();
    partition.add(1);
    partition.notSent(partition.only());
    expect(partition.sequencer.nextSequence).toBe(0);
    expect(partition.queue.ready).toHaveLength(1);
    expect(partition.only().batch.baseSequence).toBe(0);
  });
});

describe('answers', () => {
  test('P9: an acknowledged later batch proves the earlier one stored, and a retry learns its offset', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.sequencer.attemptEnded(first!, true);
    first!.batch.unanswered++;
    partition.sequencer.retriable(first!.batch, 0);
    partition.stored(second!, 4n);
    expect(first!.batch.fate).toBe('stored');
    partition.stored(partition.only(), 2n);
    expect(partition.acknowledged).toEqual([
      [0, 0n],
      [4, 4n],
      [2, 2n],
    ]);
  });

  test('P8: a batch known to be stored is acknowledged without an offset when the broker has forgotten it', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.retry(first!);
    partition.stored(second!, 4n);
    partition.outOfOrder(partition.only());
    expect(partition.acknowledged.at(-1)).toEqual([2, -1n]);
    expect(partition.bumps).toEqual([]);
  });

  test('P3: out of order behind a failed predecessor is no reason to bump; it waits and goes in order', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.outOfOrder(second!);
    expect(partition.drain()).toEqual([]);
    partition.retry(first!);
    const again = partition.only();
    expect(again.batch.baseSequence).toBe(2);
    partition.stored(again, 2n);
    expect(partition.only().batch.baseSequence).toBe(4);
    expect(partition.bumps).toEqual([]);
  });

  test('C12: a reply to an attempt that is not waited for changes nothing', () => {
    const partition = new Partition();
    partition.add(1);
    const attempt = partition.only();
    partition.lose(attempt);
    expect(partition.sequencer.attemptEnded(attempt, true)).toBe(false);
    expect(partition.sequencer.outstanding).toBe(0);
  });
});

describe('C9: resolve, then bump', () => {
  test('after a delivery timeout the others keep their numbers until all of them were refused', () => {
    const partition = new Partition().open();
    partition.add(3);
    const [oldest, second, third] = partition.drain();
    partition.expire(oldest!.batch);
    partition.retry(oldest!);
    partition.outOfOrder(second!);
    expect(partition.drain()).toEqual([]);
    partition.outOfOrder(third!);
    const firstQuestion = partition.only();
    expect(firstQuestion.batch).toMatchObject({ epoch: 0, baseSequence: 4 });
    partition.outOfOrder(firstQuestion);
    const secondQuestion = partition.only();
    expect(secondQuestion.batch).toMatchObject({ epoch: 0, baseSequence: 6 });
    expect(partition.bumps).toEqual([]);
    partition.outOfOrder(secondQuestion);
    expect(partition.bumps).toMatchObject([
      { trigger: 'delivery-timeout', fromEpoch: 0, renumbered: 2, dataLossSuspected: false },
    ]);
    expect(partition.only().batch).toMatchObject({ epoch: 1, baseSequence: 0 });
  });

  test('a failed batch after all that still wait is asked too: it may be the one a restarted leader remembers', () => {
    const partition = new Partition().open();
    partition.add(3);
    const attempts = partition.drain();
    for (const attempt of attempts) {
      partition.sequencer.attemptEnded(attempt, true);
      attempt.batch.unanswered++;
    }
    partition.expire(attempts[2]!.batch);
    for (const attempt of attempts.slice(0, 2)) partition.sequencer.retriable(attempt.batch, 0);
    for (const expected of [2, 4]) {
      const question = partition.only();
      expect(question.batch.baseSequence).toBe(expected);
      partition.outOfOrder(question);
    }
    const last = partition.only();
    expect(last.batch.baseSequence).toBe(6);
    partition.stored(last, 6n);
    expect(partition.acknowledged).toEqual([
      [0, 0n],
      [2, -1n],
      [4, -1n],
    ]);
    expect(partition.bumps).toEqual([]);
    expect(partition.forgotten.map(({ baseSequence }) => baseSequence)).toEqual([0, 2, 4, 6]);
  });

  test('a failed batch before one that still waits is not asked: that would store it', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [failed, waiting] = partition.drain();
    for (const attempt of [failed!, waiting!]) {
      partition.sequencer.attemptEnded(attempt, true);
      attempt.batch.unanswered++;
    }
    partition.expire(failed!.batch);
    partition.sequencer.retriable(waiting!.batch, 0);
    const question = partition.only();
    expect(question.batch.baseSequence).toBe(4);
    partition.outOfOrder(question);
    expect(partition.bumps).toMatchObject([{ renumbered: 1 }]);
    expect(partition.forgotten.at(-1)).toBe(failed!.batch);
  });

  test('the batch that timed out is not sent again', () => {
    const partition = new Partition();
    partition.add(1);
    const attempt = partition.only();
    partition.lose(attempt);
    partition.expire(attempt.batch);
    expect(partition.drain()).toEqual([]);
    expect(partition.bumps).toMatchObject([{ renumbered: 0 }]);
  });

  test('P23: refused as out of order although stored: the newest is asked, and proves them all', () => {
    const partition = new Partition().open();
    partition.add(5);
    partition.lose(...partition.drain());
    // The retry that shows the trouble, then the round.
    for (const expected of [2, 2, 4, 6, 8]) {
      const question = partition.only();
      expect(question.batch.baseSequence).toBe(expected);
      partition.outOfOrder(question);
    }
    const last = partition.only();
    partition.stored(last, 10n);
    expect(partition.acknowledged).toEqual([
      [0, 0n],
      [10, 10n],
      [2, -1n],
      [4, -1n],
      [6, -1n],
      [8, -1n],
    ]);
    expect(partition.bumps).toEqual([]);
    expect(partition.sequencer.state).toBe('flowing');
  });

  test('P4, P5: a batch stored without our knowing is not renumbered because another one failed', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [stored, late] = partition.drain();
    partition.lose(stored!, late!);
    partition.expire(late!.batch);
    const question = partition.only();
    expect(question.batch).toMatchObject({ epoch: 0, baseSequence: 2 });
    partition.stored(question, 2n);
    expect(partition.acknowledged.at(-1)).toEqual([2, 2n]);
    expect(partition.bumps).toMatchObject([{ renumbered: 0 }]);
  });

  test('with an attempt lost with its connection, only a second refusal a second later is believed', () => {
    const partition = new Partition().open();
    partition.add(2);
    partition.lose(...partition.drain());
    partition.nowMs = 100;
    for (const expected of [2, 2, 4]) {
      const question = partition.only();
      expect(question.batch.baseSequence).toBe(expected);
      partition.outOfOrder(question);
    }
    expect(partition.bumps).toEqual([]);
    expect(partition.drain()).toEqual([]);
    expect(partition.resumeTimes).toEqual([1_000]);
    partition.nowMs = 1_000;
    partition.sequencer.resume(1_000);
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toEqual([]);
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toMatchObject([{ renumbered: 2, dataLossSuspected: true }]);
  });

  test('a connection lost during the second round makes a third', () => {
    const partition = new Partition().open();
    partition.add(1);
    partition.lose(partition.only());
    partition.outOfOrder(partition.only());
    partition.outOfOrder(partition.only());
    partition.nowMs = 1_000;
    partition.sequencer.resume(1_000);
    partition.lose(partition.only());
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toEqual([]);
    expect(partition.resumeTimes.at(-1)).toBe(2_000);
    partition.nowMs = 2_000;
    partition.sequencer.resume(2_000);
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toHaveLength(1);
  });

  test('a new leader is asked from the oldest on', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.outOfOrder(first!);
    partition.outOfOrder(second!);
    partition.outOfOrder(partition.only());
    partition.sequencer.leaderChanged(0);
    expect(partition.only().batch.baseSequence).toBe(2);
  });

  test('a timed-out batch that turns out to be stored needs no bump', () => {
    const partition = new Partition().open();
    partition.add(1);
    const attempt = partition.only();
    partition.expire(attempt.batch);
    partition.stored(attempt, 2n);
    expect(partition.bumps).toEqual([]);
    partition.add(1);
    expect(partition.only().batch).toMatchObject({ epoch: 0, baseSequence: 4 });
  });

  test('C11: refused in full with nothing unresolved before the oldest, the broker lost what it acknowledged', () => {
    const partition = new Partition().open();
    partition.add(1);
    partition.outOfOrder(partition.only());
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toMatchObject([{ trigger: 'out-of-order', dataLossSuspected: true }]);
  });

  test('C11: refused for its size while resolving proves no loss', () => {
    const partition = new Partition().open();
    partition.add(1);
    partition.outOfOrder(partition.only());
    const question = partition.only();
    partition.sequencer.attemptEnded(question, true);
    partition.sequencer.refusedWhileResolving(question.batch, partition.nowMs);
    expect(partition.bumps).toMatchObject([{ renumbered: 1, dataLossSuspected: false }]);
  });

  test('C11: an unknown producer is no loss when its records are gone from the log, or it was idle for long', () => {
    const gone = new Partition().open();
    gone.add(1);
    gone.outOfOrder(gone.only(), 'unknown-producer', 2n);
    gone.outOfOrder(gone.only(), 'unknown-producer', 2n);
    expect(gone.bumps).toMatchObject([{ trigger: 'unknown-producer', dataLossSuspected: false }]);

    const idle = new Partition().open();
    idle.nowMs = 2_000_000;
    idle.add(1);
    idle.outOfOrder(idle.only(), 'unknown-producer');
    idle.outOfOrder(idle.only(), 'unknown-producer');
    expect(idle.bumps).toMatchObject([{ dataLossSuspected: false }]);

    const lost = new Partition().open();
    lost.add(1);
    lost.outOfOrder(lost.only(), 'unknown-producer');
    lost.outOfOrder(lost.only(), 'unknown-producer');
    expect(lost.bumps).toMatchObject([{ dataLossSuspected: true }]);
  });
});

test('without idempotence there are no numbers, no gate and nothing to resolve', () => {
  const partition = new Partition({ idempotence: false });
  partition.add(6);
  const attempts = partition.drain();
  expect(sequences(attempts)).toEqual([-1, -1, -1, -1, -1]);
  partition.expire(attempts[0]!.batch);
  expect(partition.sequencer.state).toBe('flowing');
  expect(partition.bumps).toEqual([]);
});

test('a state that may not follow another is refused', () => {
  const partition = new Partition();
  expect(() => partition.sequencer.takeIdentity({ producerId: 1n, epoch: 0 })).toThrow(
    "can't go from flowing to flowing",
  );
  const [batch] = partition.add(1);
  expect(() => batch!.moveTo('retrying')).toThrow("can't go from ready to retrying");
});

type Step = 'add' | 'drain' | 'store' | 'refuse' | 'lose' | 'not-sent' | 'retry' | 'expire' | 'wait' | 'new-leader';

test('whatever comes, numbers have no gaps, five is kept, and every batch is told its fate once', () => {
  const step = fc.record({
    what: fc.constantFrom<Step>(
      'add',
      'add',
      'drain',
      'drain',
      'store',
      'store',
      'refuse',
      'lose',
      'not-sent',
      'retry',
      'expire',
      'wait',
      'new-leader',
    ),
    which: fc.nat(4),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const partition = new Partition();
      const { sequencer } = partition;
      const told = new Set<ProducerBatch>();
      let offset = 0n;
      const outstanding = (which: number): Attempt | undefined => {
        const attempts = sequencer.numbered.flatMap(({ attempt }) => (attempt === null ? [] : [attempt]));
        return attempts[which % Math.max(1, attempts.length)];
      };
      for (const { what, which } of steps) {
        const attempt = outstanding(which);
        if (what === 'add') partition.add(1);
        else if (what === 'drain') partition.drain();
        else if (what === 'wait') {
          partition.nowMs += 700;
          sequencer.resume(partition.nowMs);
        } else if (what === 'new-leader') sequencer.leaderChanged(partition.nowMs);
        else if (what === 'expire') {
          const batch = sequencer.numbered.find(({ state, knownStored }) => state !== 'settled' && !knownStored);
          if (batch !== undefined) {
            expect(told.has(batch)).toBe(false);
            told.add(batch);
            partition.expire(batch);
          }
        } else if (attempt !== undefined) {
          if (what === 'store') {
            offset += 2n;
            partition.stored(attempt, offset);
          } else if (what === 'refuse') partition.outOfOrder(attempt);
          else if (what === 'lose') partition.lose(attempt);
          else if (what === 'not-sent' && !attempt.batch.left) partition.notSent(attempt);
          else if (what === 'retry') partition.retry(attempt);
        }
        const { numbered } = sequencer;
        expect(numbered.length).toBeLessThanOrEqual(5);
        expect(sequencer.outstanding).toBe(numbered.filter((batch) => batch.attempt !== null).length);
        for (let index = 1; index < numbered.length; index++) {
          expect(numbered[index]!.baseSequence).toBe(numbered[index - 1]!.baseSequence + 2);
          expect(numbered[index]!.epoch).toBe(numbered[0]!.epoch);
        }
        if (numbered.length > 0) expect(sequencer.nextSequence).toBe(numbered.at(-1)!.baseSequence + 2);
        for (const batch of partition.queue.ready) expect(batch.baseSequence).toBe(-1);
      }
    }),
    { numRuns: 2_000 },
  );
});
