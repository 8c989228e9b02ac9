import type { RecordHeaders } from '../record.ts';
import type { RecordWatch } from './hooks.ts';

/** Calls each, whatever the others do, and then throws the first error. */
export function callAll(calls: Iterable<() => unknown>): void {
  const failures: unknown[] = [];
  for (const call of calls) {
    try {
      call();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** One watch that tells several. `headers` is what they came to together. */
export function joinWatches(
  watches: readonly RecordWatch[],
  headers: RecordHeaders | undefined,
): RecordWatch | undefined {
  if (watches.length === 0) return undefined;
  return {
    headers,
    onDrained: (batch) => callAll(watches.map((watch) => () => watch.onDrained?.(batch))),
    onSettled: (error, metadata) => callAll(watches.map((watch) => () => watch.onSettled?.(error, metadata))),
  };
}
