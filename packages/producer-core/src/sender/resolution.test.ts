import { describe, expect, test } from 'vitest';
import type { ProducerBatch } from '../accumulator/batch.ts';
import { Partition } from './partition-sequencer.testkit.ts';
import { resolutionStep } from './resolution.ts';

type Facts = Partial<
  Pick<
    ProducerBatch,
    'left' | 'unanswered' | 'unansweredInFormerTopic' | 'refusedInRound' | 'refusedOtherwise' | 'lostAtMs'
  > & {
    readonly settled: boolean;
  }
>;

/** Numbered batches, oldest first: all of them left, unless they say otherwise. */
function batches(...facts: readonly Facts[]): ProducerBatch[] {
  const made = new Partition().add(facts.length);
  for (const [index, { settled = false, left = true, ...rest }] of facts.entries()) {
    Object.assign(made[index]!, { left, ...rest });
    if (settled) made[index]!.moveTo('settled');
  }
  return made;
}

describe('C9: what a resolution does next', () => {
  test('with nothing numbered, or only what never left, the same epoch goes on', () => {
    expect(resolutionStep([], 0, 0, 0)).toEqual({ do: 'continue' });
    expect(resolutionStep(batches({ left: false }), 0, 0, 0)).toEqual({ do: 'continue' });
  });

  test('when only failed batches are left, their numbers are a gap: bump', () => {
    expect(resolutionStep(batches({ settled: true, unanswered: 1 }), 0, 0, 0)).toEqual({ do: 'bump' });
    expect(resolutionStep(batches({ settled: true }, { left: false }), 0, 0, 0)).toEqual({ do: 'bump' });
  });

  test('round 1 asks the oldest that left', () => {
    const [neverLeft, oldest, newest] = batches({ left: false }, {}, {});
    expect(resolutionStep([neverLeft!, oldest!, newest!], 0, 0, 0)).toEqual({ do: 'ask', batch: oldest, round: 1 });
    const behindTwo = batches({ left: false }, { left: false }, {});
    expect(resolutionStep(behindTwo, 0, 0, 0)).toEqual({ do: 'ask', batch: behindTwo[2], round: 1 });
  });

  test('where the log was cut, what never left is asked about before a later one, and not after it', () => {
    const [before, asked, after] = batches({ left: false }, {}, { left: false });
    for (const batch of [before!, asked!, after!]) batch.answersForItself = true;
    const numbered = [before!, asked!, after!];
    expect(resolutionStep(numbered, 0, 0, 0)).toEqual({ do: 'ask', batch: before, round: 1 });
    Object.assign(before!, { refusedInRound: 1 });
    expect(resolutionStep(numbered, 1, 0, 0)).toEqual({ do: 'ask', batch: asked, round: 1 });
    Object.assign(asked!, { refusedInRound: 1 });
    expect(resolutionStep(numbered, 1, 0, 0)).toEqual({ do: 'bump' });
  });

  test('a round goes on with the oldest that was not refused in it', () => {
    const [first, second, third] = batches({ refusedInRound: 1 }, {}, {});
    expect(resolutionStep([first!, second!, third!], 1, 0, 0)).toEqual({ do: 'ask', batch: second, round: 1 });
  });

  test('behind one that was refused for what it is, only what may be stored already is asked about, in that round', () => {
    const tooLarge = { refusedInRound: 1, refusedOtherwise: true };
    expect(resolutionStep(batches(tooLarge, {}), 1, 0, 0)).toEqual({ do: 'bump' });
    const behind = batches(tooLarge, {}, { unanswered: 1 }, { settled: true, unanswered: 1 });
    expect(resolutionStep(behind, 1, 0, 0)).toEqual({ do: 'ask', batch: behind[2], round: 1 });
    // Before the first round nobody was asked; and one that failed holds up nobody.
    const beforeAsking = batches({ ...tooLarge, refusedInRound: 0 }, {});
    expect(resolutionStep(beforeAsking, 0, 0, 0)).toEqual({ do: 'ask', batch: beforeAsking[0], round: 1 });
    for (const round of [0, 1]) {
      const behindFailed = batches({ ...tooLarge, refusedInRound: round, settled: true }, {});
      expect(resolutionStep(behindFailed, round, 0, 0)).toEqual({ do: 'ask', batch: behindFailed[1], round: 1 });
    }
    // Seed 35474: what a topic that was deleted may have is not in the one made in its place, which would take it as new.
    const elsewhere = batches(tooLarge, { unanswered: 1, unansweredInFormerTopic: 1 });
    expect(resolutionStep(elsewhere, 1, 0, 0)).toEqual({ do: 'bump' });
    const inBoth = batches(tooLarge, { unanswered: 2, unansweredInFormerTopic: 1 });
    expect(resolutionStep(inBoth, 1, 0, 0)).toEqual({ do: 'ask', batch: inBoth[1], round: 1 });
    // It was refused, and still is the first to be asked again.
    const again = batches(tooLarge, { unanswered: 1, refusedInRound: 1, lostAtMs: 500 });
    expect(resolutionStep(again, 1, 0, 5_000)).toEqual({ do: 'ask', batch: again[0], round: 2 });
    const before = batches({}, tooLarge);
    expect(resolutionStep(before, 1, 0, 0)).toEqual({ do: 'ask', batch: before[0], round: 1 });
    const nextRound = batches({ ...tooLarge, refusedInRound: 2 }, { unanswered: 1, refusedInRound: 1 });
    expect(resolutionStep(nextRound, 2, 0, 0)).toEqual({ do: 'ask', batch: nextRound[1], round: 2 });
    const earlierRound = batches({ ...tooLarge, refusedInRound: 1 }, {});
    expect(resolutionStep(earlierRound, 2, 0, 0)).toEqual({ do: 'ask', batch: earlierRound[0], round: 2 });
  });

  test('a refusal of an earlier round does not count in a later one', () => {
    const [first, second] = batches({ refusedInRound: 2 }, { refusedInRound: 1 });
    expect(resolutionStep([first!, second!], 2, 0, 0)).toEqual({ do: 'ask', batch: second, round: 2 });
  });

  test('a failed batch after all that wait is asked when it may be stored, one before them never', () => {
    const refused = { refusedInRound: 1 };
    const after = batches(refused, { settled: true, unanswered: 1 });
    expect(resolutionStep(after, 1, 0, 0)).toEqual({ do: 'ask', batch: after[1], round: 1 });
    expect(resolutionStep(batches(refused, { settled: true, unanswered: 0 }), 1, 0, 0)).toEqual({ do: 'bump' });
    expect(resolutionStep(batches({ settled: true, unanswered: 1 }, refused), 1, 0, 0)).toEqual({ do: 'bump' });
  });

  test('when all answered attempts were refused and no connection ended, the first round is believed', () => {
    expect(resolutionStep(batches({ refusedInRound: 1 }, { refusedInRound: 1 }), 1, 0, 0)).toEqual({ do: 'bump' });
  });

  test('after the last connection that ended, a second passes before the second round', () => {
    const lost = batches({ refusedInRound: 1, lostAtMs: 500 }, { refusedInRound: 1, lostAtMs: 200 });
    expect(resolutionStep(lost, 1, 0, 1_499)).toEqual({ do: 'wait', untilMs: 1_500 });
    expect(resolutionStep(lost, 1, 0, 1_500)).toEqual({ do: 'ask', batch: lost[0], round: 2 });
  });

  test('one round alone is never believed after a lost connection, however late it began', () => {
    const lost = batches({ refusedInRound: 1, lostAtMs: 500 });
    expect(resolutionStep(lost, 1, 9_000, 9_000)).toEqual({ do: 'ask', batch: lost[0], round: 2 });
  });

  test('a second round is believed when it began a second or more after the connection ended', () => {
    const lost = batches({ refusedInRound: 2, lostAtMs: 500 });
    expect(resolutionStep(lost, 2, 1_500, 1_500)).toEqual({ do: 'bump' });
    expect(resolutionStep(lost, 2, 1_499, 1_500)).toEqual({ do: 'ask', batch: lost[0], round: 3 });
    expect(resolutionStep(lost, 2, 1_499, 1_499)).toEqual({ do: 'wait', untilMs: 1_500 });
  });
});
