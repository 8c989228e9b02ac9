import type { Found, GroupOutcome, KeyGroup } from './batch-plan.ts';
import { ResultError } from './errors.ts';
import type { Isolation } from './handler.ts';
import type { StoredOffset } from './store.ts';

/** The work of one `process` or `processBatch` call. */
export interface Job<M, R, Context> {
  /** Ordered as they are to be claimed. */
  readonly groups: readonly KeyGroup<M>[];
  readonly isolate: Isolation;
  /** Runs the caller's handler on groups, given in message order; one result per group. */
  invoke(groups: readonly KeyGroup<M>[], context: Context): Promise<readonly R[]>;
  /** What `commitOffsets` is to store, given what has been found out; none when it is off. */
  offsetsAfter(found: ReadonlyMap<KeyGroup<M>, GroupOutcome<R>>): readonly StoredOffset[];
}

/** Finds out what becomes of each group. Never rejects: what goes wrong is in the outcomes. */
export interface Runner<Context> {
  run<M, R>(job: Job<M, R, Context>): Promise<Found<M, R>>;
}

/** The JSON text of a handler's result, or `null` when there is none to keep. */
export function encodeResult(result: unknown): string | null {
  if (result === undefined) return null;
  let text: string | undefined;
  try {
    text = JSON.stringify(result);
  } catch (cause) {
    throw new ResultError('keepResult is on, and the handler returned what JSON cannot hold', { cause });
  }
  if (text === undefined) {
    throw new ResultError(`keepResult is on, and the handler returned a ${typeof result}`);
  }
  return text;
}
