import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Outcome } from '../outcome.ts';

/** Compares the outcomes' statuses, and shows the errors behind them when they differ. */
export function expectStatuses(outcomes: readonly Outcome[], statuses: readonly Outcome['status'][]): void {
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [String(outcome.error)] : []));
  deepStrictEqual(
    outcomes.map(({ status }) => status),
    statuses,
    `outcomes ${outcomes.map(({ status }) => status).join(', ')}; expected ${statuses.join(', ')}; errors: ${errors.join('; ') || 'none'}`,
  );
}

export function expectStatus<S extends Outcome['status'], R>(
  outcome: Outcome<R>,
  status: S,
): Extract<Outcome<R>, { status: S }> {
  const error = 'error' in outcome ? outcome.error : undefined;
  strictEqual(outcome.status, status, `the outcome is ${outcome.status}, not ${status}${error ? `: ${error}` : ''}`);
  return outcome as Extract<Outcome<R>, { status: S }>;
}

export { deepStrictEqual as expectEqual, ok as expectTrue };
