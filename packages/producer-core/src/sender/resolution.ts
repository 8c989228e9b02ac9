import type { ProducerBatch } from '../accumulator/batch.ts';

/** Why a partition has to find out what is stored (C9). */
export type ResolutionTrigger = 'delivery-timeout' | 'refused' | 'out-of-order' | 'unknown-producer';

/**
 * A request may outlive its connection inside a broker that was frozen: it wakes up and works through its socket. Only a
 * refusal this long after the connection ended is believed.
 */
export const zombieWaitMs = 1_000;

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
 * What rule C9 does next, given the numbered batches (oldest first, no attempt out, none known to be stored).
 *
 * A batch whose callers were told that it failed is never sent again: asking for it would store what the application may
 * have sent anew. Its later neighbours tell its fate. One that never left needs no question.
 *
 * The rounds: each batch that left is asked, oldest first. A refusal settles nothing alone, because a restarted leader
 * remembers only the last batch; so all are asked, up to the newest. When one of them ever left on a connection that ended
 * before its answer, the round is repeated, a second or more after that end, and only the second refusal counts.
 */
export function resolutionStep(
  numbered: readonly ProducerBatch[],
  round: number,
  roundStartedAtMs: number,
  nowMs: number,
): ResolutionStep {
  let asked = 0;
  let lostAtMs = Number.NEGATIVE_INFINITY;
  let hasGap = false;
  for (const batch of numbered) {
    if (batch.state === 'settled') {
      hasGap = true;
      continue;
    }
    if (!batch.left) continue;
    if (batch.refusedInRound !== round || round === 0) return { do: 'ask', batch, round: Math.max(1, round) };
    asked++;
    lostAtMs = Math.max(lostAtMs, batch.lostAtMs);
  }
  if (asked === 0) return hasGap ? { do: 'bump' } : { do: 'continue' };
  const isBelieved =
    lostAtMs === Number.NEGATIVE_INFINITY || (round >= 2 && roundStartedAtMs >= lostAtMs + zombieWaitMs);
  if (isBelieved) return { do: 'bump' };
  const secondRoundAtMs = lostAtMs + zombieWaitMs;
  if (nowMs < secondRoundAtMs) return { do: 'wait', untilMs: secondRoundAtMs };
  const first = numbered.find((batch) => batch.state !== 'settled')!;
  return { do: 'ask', batch: first, round: round + 1 };
}
