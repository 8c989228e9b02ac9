import { describe, expect, test } from 'vitest';
import { Partition, sequences } from './partition-sequencer.testkit.ts';
import { resolutionStep } from './resolution.ts';

describe('a topic that was made again', () => {
  test('C7: what is still answered of the former one does not open the gate to it', () => {
    const partition = new Partition();
    partition.add(1);
    const former = partition.only();
    partition.sequencer.topicRecreated();
    partition.stored(former, 900n);
    expect(partition.acknowledged).toEqual([[0, 900n]]);
    partition.add(2);
    expect(sequences(partition.drain())).toEqual([2]);
  });

  test('an offset of the former one is no measure for those of the new one', () => {
    const partition = new Partition();
    partition.add(1);
    const former = partition.only();
    partition.sequencer.topicRecreated();
    partition.stored(former, 900n);
    partition.add(1);
    partition.stored(partition.only(), 0n);
    expect(partition.logsWentBack).toBe(0);
  });

  test('C9: a batch that the former one stored says nothing of an earlier one that waits', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.sequencer.topicRecreated();
    partition.stored(second!, 900n);
    partition.lose(first!);
    expect(first!.batch.knownStored).toBe(false);
    expect(sequences(partition.drain())).toEqual([2]);
  });

  test('C9: a batch that the new one has is not asked about again, since its bytes are gone', () => {
    const partition = new Partition().open();
    partition.add(3);
    const [first, second, third] = partition.drain();
    partition.sequencer.topicRecreated();
    partition.lose(first!, second!, third!);
    for (const batch of partition.sequencer.numbered) batch.answersForItself = true;
    third!.batch.knownStored = true;
    third!.batch.unanswered = 1;
    partition.sequencer.resolve('out-of-order', partition.nowMs);
    partition.outOfOrder(partition.only());
    partition.outOfOrder(partition.only());
    expect(third!.batch.state).toBe('settled');
    const step = resolutionStep(partition.sequencer.numbered, 1, 0, 10_000);
    expect(step).toEqual({ do: 'ask', batch: first!.batch, round: 2 });
  });

  test('C4, C9: batches that never left go before a later one is asked about, since the new one takes any number', () => {
    const partition = new Partition().open();
    partition.add(4);
    const [failed, second, third, last] = partition.drain();
    partition.lose(failed!);
    partition.notSent(second!);
    partition.notSent(third!);
    partition.lose(last!);
    partition.sequencer.topicRecreated();
    partition.expire(failed!.batch);
    const asked = [second, third, last].map((former, index) => {
      const attempt = partition.only();
      partition.stored(attempt, BigInt(2 * index));
      return attempt.batch === former!.batch;
    });
    expect(asked).toEqual([true, true, true]);
    expect(partition.acknowledged.slice(1)).toEqual([
      [4, 0n],
      [6, 2n],
      [8, 4n],
    ]);
  });

  test('C4, C9: behind one that the new one refuses for its size, what only the former one may have is not asked about', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    partition.lose(first!, second!);
    partition.sequencer.topicRecreated();
    partition.sequencer.resolve('out-of-order', partition.nowMs);
    const tooLarge = () => {
      const attempt = partition.only();
      expect(attempt.batch).toBe(first!.batch);
      partition.sequencer.attemptEnded(attempt, true);
      partition.sequencer.refusedWhileResolving(attempt.batch, partition.nowMs);
    };
    tooLarge();
    expect(partition.drain()).toEqual([]);
    partition.nowMs += 10_000;
    partition.sequencer.resume(partition.nowMs);
    tooLarge();
    // The epoch has changed, and the first goes first.
    expect(partition.drain().map(({ batch }) => [batch === first!.batch, batch.epoch])).toEqual([[true, 1]]);
  });

  test.each(['out-of-order', 'unknown-producer'] as const)(
    'C11: that it does not know the producer (%s) is no second loss, and one that follows a bump is',
    (trigger) => {
      const partition = new Partition().open();
      const loseTrack = () => {
        partition.add(1);
        partition.outOfOrder(partition.only(), trigger);
        partition.outOfOrder(partition.only(), trigger);
      };
      partition.sequencer.topicRecreated();
      partition.add(1);
      partition.stored(partition.only(), 0n);
      loseTrack();
      expect(partition.bumps.map(({ dataLossSuspected }) => dataLossSuspected)).toEqual([false]);
      partition.stored(partition.only(), 10n);
      loseTrack();
      expect(partition.bumps.map(({ dataLossSuspected }) => dataLossSuspected)).toEqual([false, true]);
    },
  );

  test('C8: a batch that the former one may have is of unknown fate, whatever numbers it gets', () => {
    const partition = new Partition().open();
    partition.add(1);
    partition.lose(partition.only());
    partition.sequencer.topicRecreated();
    partition.nowMs = 5_000;
    partition.outOfOrder(partition.only());
    partition.outOfOrder(partition.only());
    partition.outOfOrder(partition.only());
    expect(partition.bumps).toHaveLength(1);
    const [batch] = partition.queue.ready;
    expect(batch!.unanswered).toBe(0);
    expect(batch!.fate).toBe('unknown');
  });

  test('C8: a batch that never left for the former one is certainly not stored, with numbers or without', () => {
    const partition = new Partition().open();
    partition.add(2);
    const [first, second] = partition.drain();
    const [unsent] = partition.add(1);
    partition.notSent(first!);
    partition.lose(second!);
    partition.sequencer.topicRecreated();
    expect([first!.batch, second!.batch, unsent!].map(({ fate }) => fate)).toEqual([
      'not-stored',
      'unknown',
      'not-stored',
    ]);
  });
});
