import { InProgressError } from './errors.ts';
import type { MessageSource } from './message.ts';

/** What the store remembers of the run that processed a key first. */
export interface FirstRun {
  /** By the store's clock. */
  readonly processedAt: Date;
  /** Where the message lay that was processed. */
  readonly source: MessageSource;
  /** What a hook wanted to be kept with that run (`MessageWatch.note`), or `null`. */
  readonly note: string | null;
  /** The handler's result, when `keepResult` was on and it returned one; else `undefined`. */
  readonly result: unknown;
}

/**
 * Why a message failed: the handler threw, the message can't be used (no key, or one that is not exact), the store can't be
 * reached, or the lease ended before the handler did.
 */
export type FailureReason = 'handler' | 'message' | 'store' | 'lease-lost';

/** The handler ran, and its effect is recorded under the key. */
export interface Processed<R = unknown> {
  readonly status: 'processed';
  readonly key: Buffer;
  readonly result: R;
  /** 1 for the first try of this key that the store knows of. */
  readonly attempt: number;
}

/** The key was processed before; the handler did not run. */
export interface Duplicate {
  readonly status: 'duplicate';
  readonly key: Buffer;
  readonly first: FirstRun;
}

/** The key was processed before with another payload; the handler did not run. */
export interface Conflict {
  readonly status: 'conflict';
  readonly key: Buffer;
  readonly first: FirstRun;
}

/** Another consumer holds the key; the handler did not run. */
export interface InProgress {
  readonly status: 'in-progress';
  readonly key: Buffer;
  readonly error: InProgressError;
}

/** Not processed; nothing marks the key as done. `error` is the handler's own, unchanged, where the handler failed (rule D7). */
export interface Failed {
  readonly status: 'failed';
  /** `null` where the key could not be read. */
  readonly key: Buffer | null;
  readonly reason: FailureReason;
  readonly error: unknown;
}

/** What became of one message (rule D2). */
export type Outcome<R = unknown> = Processed<R> | Duplicate | Conflict | InProgress | Failed;

/** The outcomes after which a message's offset may be committed without losing it. */
export type Committable<R = unknown> = Processed<R> | Duplicate | Conflict;

/** Whether the message's offset may be committed: rule D2's first three. */
export function isCommittable<R>(outcome: Outcome<R>): outcome is Committable<R> {
  return outcome.status !== 'failed' && outcome.status !== 'in-progress';
}

/** Returns a committable outcome, and throws the error of any other: the handler's own, unchanged, where the handler failed. */
export function committable<R>(outcome: Outcome<R>): Committable<R> {
  if (isCommittable(outcome)) return outcome;
  throw outcome.error;
}

export function inProgress(key: Buffer): InProgress {
  const error = new InProgressError('another consumer is processing the same key; deliver the message again later');
  return { status: 'in-progress', key, error };
}
