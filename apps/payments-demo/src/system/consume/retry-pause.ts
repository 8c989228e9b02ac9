import { setTimeout as sleep } from 'node:timers/promises';

const firstPauseMs = 200;
const longestPauseMs = 3_000;

/** How long a consumer waits before it tries the same record again: longer each time, up to a bound that suits a database's restart. */
export function pauseBeforeRetryMs(failures: number): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
}

/** Rejects with the signal's reason when it is aborted. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  await sleep(durationMs, undefined, { signal });
}
