export interface RetryPolicyOptions {
  readonly retryBackoffMs: number;
  readonly retryBackoffMaxMs: number;
}

const jitter = 0.2;

/**
 * How long to wait before attempt `failures + 1`: doubling from `retryBackoffMs` to `retryBackoffMaxMs`, ±20 % by chance so
 * that many producers do not come back in step.
 */
export function backoffMs(
  { retryBackoffMs, retryBackoffMaxMs }: RetryPolicyOptions,
  failures: number,
  random: number,
): number {
  const doublings = Math.min(Math.max(0, failures - 1), 30);
  const base = Math.min(retryBackoffMaxMs, retryBackoffMs * 2 ** doublings);
  return base * (1 - jitter + 2 * jitter * random);
}
