import type { RecordMetadata } from '../record.ts';

/** Called once per record of a `sendBatch` call. */
export interface CallSettler {
  /** Exactly one of `error` and `metadata` is not null. False when a failure reaches nobody. */
  settle(index: number, error: Error | null, metadata: RecordMetadata | null): boolean;
}

export type OnSettled = (error: Error | null, metadata: RecordMetadata | null) => void;

/**
 * Who hears of one record. `send` leaves its promise's resolve and reject, `enqueue` a callback and nothing, `sendBatch` its
 * settler and the record's place in the call. Two slots, because an object a record would cost more than the record.
 */
export type SettlerFirst = ((metadata: RecordMetadata) => void) | OnSettled | CallSettler | undefined;
export type SettlerSecond = ((error: Error) => void) | number | undefined;

/** Tells whoever hears of a record that it failed. False when nobody does. */
export function tellFailure(
  first: SettlerFirst,
  second: SettlerSecond,
  error: Error,
  onCallbackError: (error: unknown) => void,
): boolean {
  if (first === undefined) return false;
  if (typeof second === 'function') second(error);
  else if (typeof second === 'number') return (first as CallSettler).settle(second, error, null);
  else callBack(first as OnSettled, error, null, onCallbackError);
  return true;
}

/** Tells whoever hears of a record that it is stored. */
export function tellSuccess(
  first: SettlerFirst,
  second: SettlerSecond,
  metadata: RecordMetadata,
  onCallbackError: (error: unknown) => void,
): void {
  if (first === undefined) return;
  if (typeof second === 'function') (first as (metadata: RecordMetadata) => void)(metadata);
  else if (typeof second === 'number') (first as CallSettler).settle(second, null, metadata);
  else callBack(first as OnSettled, null, metadata, onCallbackError);
}

/** An async callback is not waited for; its rejection must not become an unhandled one. */
function callBack(
  onSettled: (...told: Parameters<OnSettled>) => unknown,
  error: Error | null,
  metadata: RecordMetadata | null,
  onCallbackError: (error: unknown) => void,
): void {
  try {
    const returned = onSettled(error, metadata);
    if (returned instanceof Promise) returned.catch(onCallbackError);
  } catch (callbackError) {
    onCallbackError(callbackError);
  }
}
