import type { Accumulator, TakeMode } from '../accumulator/accumulator.ts';
import {
  type CallSettler,
  type SettlerFirst,
  type SettlerSecond,
  tellFailure,
  tellSuccess,
} from '../accumulator/settler.ts';
import { RecordTooLargeError } from '../errors.ts';
import type { ProducerRecord, RecordHeaders, RecordMetadata } from '../record.ts';
import type { RecordWatch } from './hooks.ts';
import type { Observer } from './observer.ts';

/** Stands in for a record's settler when a hook watches the record: tells the hook, then whoever else hears of it. */
export class WatchedRecord implements CallSettler {
  readonly watch: RecordWatch;
  readonly #first: SettlerFirst;
  readonly #second: SettlerSecond;
  readonly #observer: Observer;

  constructor(watch: RecordWatch, first: SettlerFirst, second: SettlerSecond, observer: Observer) {
    this.watch = watch;
    this.#first = first;
    this.#second = second;
    this.#observer = observer;
  }

  settle(_index: number, error: Error | null, metadata: RecordMetadata | null): boolean {
    this.#observer.recordSettled(this.watch, error, metadata);
    if (error !== null) return tellFailure(this.#first, this.#second, error, this.#observer.callbackFailed);
    tellSuccess(this.#first, this.#second, metadata!, this.#observer.callbackFailed);
    return true;
  }
}

/** `accumulator.take`, with the record shown to the hooks first. Throws what it throws. */
export function takeWatched(
  accumulator: Accumulator,
  observer: Observer,
  record: ProducerRecord,
  first: SettlerFirst,
  second: SettlerSecond,
  mode: TakeMode,
  signal: AbortSignal | undefined,
): void {
  const watch = observer.record(record);
  if (watch === null) {
    accumulator.take(record, first, second, mode, signal);
    return;
  }
  const headers = observer.headersOf(watch);
  const hears = observer.hears(watch);
  const settler = hears ? new WatchedRecord(watch, first, second, observer) : first;
  const place = hears ? 0 : second;
  try {
    if (headers === undefined) accumulator.take(record, settler, place, mode, signal);
    else {
      try {
        accumulator.take(withHeaders(record, headers), settler, place, mode, signal);
      } catch (error) {
        if (!(error instanceof RecordTooLargeError)) throw error;
        // A hook may not fail a record that fits without it. Nothing was kept.
        accumulator.take(record, settler, place, mode, signal);
      }
    }
  } catch (error) {
    observer.recordSettled(watch, error as Error, null);
    throw error;
  }
}

/** Field by field, so that all such records have one shape: spread is slower by more than the rest of the hook. */
function withHeaders(
  { topic, key, value, partition, timestamp }: ProducerRecord,
  headers: RecordHeaders,
): ProducerRecord {
  return { topic, key, value, headers, partition, timestamp };
}
