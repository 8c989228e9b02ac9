import type { ProducerBatch } from '../accumulator/batch.ts';

/** Why a partition has to find out what is stored (C9). */
export type ResolutionTrigger = 'delivery-timeout' | 'refused' | 'out-of-order' | 'unknown-producer';

/**
 * A request may outlive its connection inside a broker that was frozen: it wakes up and works through its socket. Only a
 * refusal this long after the connection ended is believed.
 */
const zombieWaitMs = 1_000;

export type ResolutionStep =
  /** Send this batch under its old numbers, alone. */
  | { readonly do: 'ask'; readonly batch: ProducerBatch; readonly round: number }
  /** Everything was refused, but a request may still be on its way. */
  | { readonly do: 'wait'; readonly untilMs: number }
  /** No numbered batch is left that could be missing: the same epoch goes on. */
  | { readonly do: 'continue' }
  /** None of what is left is stored. */
  | { readonly do: 'bump' };

/**
 * What rule C9 does next, given the numbered batches (oldest first, no attempt out). One that is known to be stored is among them only
 * behind batches that answer for themselves, and needs no question.
 *
 * The rounds: each batch that left is asked, oldest first. A refusal settles nothing alone, because a restarted leader
 * remembers only the last batch; so all are asked, up to the newest. When one of them ever left on a connection that ended
 * before its answer, the round is repeated, a second or more after that end, and only the second refusal counts.
 *
 * A batch whose callers were told that it failed is asked only when it comes after all that still wait: it may be the one that
 * the leader remembers. That can't store it, since its predecessor was refused just before. Any other would be stored by being
 * asked, perhaps after the application sent it anew; its later neighbours tell its fate. One that never left needs no question; but where
 * the log was cut, the leader may know nothing of the producer and take any number, so such a one has to go before a later one is asked about.
 * For the same reason, behind one that was refused for what it is, and not for its number, only what may be stored already is asked about.
 */
export function resolutionStep(
  numbered: readonly ProducerBatch[],
  round: number,
  roundStartedAtMs: number,
  nowMs: number,
): ResolutionStep {
  const newestWaiting = numbered.findLastIndex((batch) => batch.state !== 'settled' && batch.left);
  if (newestWaiting < 0) {
    return numbered.some((batch) => batch.state === 'settled') ? { do: 'bump' } : { do: 'continue' };
  }
  // Once refused for another reason, it is asked before those behind it, and its answer then says anew.
  const oldestNotTaken = numbered.findIndex((batch) => batch.state !== 'settled' && batch.refusedOtherwise);
  const asked = numbered.filter((batch, index) => {
    const mayBeThere = batch.unanswered > batch.unansweredInFormerTopic;
    if (oldestNotTaken >= 0 && index > oldestNotTaken && !mayBeThere) return false;
    return batch.state === 'settled'
      ? index > newestWaiting && batch.unanswered > 0 && !batch.knownStored
      : batch.left || (batch.answersForItself && index < newestWaiting);
  });
  if (round === 0) return { do: 'ask', batch: asked[0]!, round: 1 };
  const next = asked.find((batch) => batch.refusedInRound !== round);
  if (next !== undefined) return { do: 'ask', batch: next, round };
  const lostAtMs = asked.reduce((latest, batch) => Math.max(latest, batch.lostAtMs), Number.NEGATIVE_INFINITY);
  if (lostAtMs === Number.NEGATIVE_INFINITY) return { do: 'bump' };
  const secondRoundAtMs = lostAtMs + zombieWaitMs;
  if (round >= 2 && roundStartedAtMs >= secondRoundAtMs) return { do: 'bump' };
  if (nowMs < secondRoundAtMs) return { do: 'wait', untilMs: secondRoundAtMs };
  return { do: 'ask', batch: asked[0]!, round: round + 1 };
}
