/** The successor is opened at the latest when this share of the session has passed, so that short sessions are renewed in time too. */
const latestShare = 0.8;
const shortestPauseMs = 100;

/** Time from a session's start until its successor is opened. */
export function renewAfterMs(sessionLifetimeMs: number, thresholdMs: number): number {
  return Math.max(0, Math.round(Math.max(sessionLifetimeMs - thresholdMs, sessionLifetimeMs * latestShare)));
}

/** Pause before another try when a renewal failed; undefined when the session's end is too near for one. */
export function retryRenewalAfterMs(leftMs: number): number | undefined {
  const pauseMs = Math.round(leftMs / 3);
  return pauseMs < shortestPauseMs ? undefined : pauseMs;
}
