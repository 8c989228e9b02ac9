import type { ProducerRecord, RecordBytes, RecordHeaders } from '../record.ts';
import { Deadline } from '../sender/deadline-queue.ts';
import type { FlushGroup } from './flush-tracker.ts';
import type { SettlerFirst, SettlerSecond } from './settler.ts';
import type { TopicState } from './topic-state.ts';

/** A record that could not be appended at once: its topic is not known yet, or memory is full (C14). */
export class WaitingRecord extends Deadline {
  readonly topic: TopicState;
  readonly record: ProducerRecord;
  readonly first: SettlerFirst;
  readonly second: SettlerSecond;
  readonly flushGroup: FlushGroup;
  /** Bytes counted against `bufferMemory`; 0 for a `send`, which holds back its caller. */
  readonly chargedBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly #onTimeout: (waiting: WaitingRecord) => void;
  /** Where it goes, once that was chosen: the choice is made once a record. -1 before. */
  partition = -1;
  waitsFor: 'topic' | 'memory';
  onAbort: (() => void) | null = null;
  isSettled = false;

  constructor(
    topic: TopicState,
    record: ProducerRecord,
    first: SettlerFirst,
    second: SettlerSecond,
    flushGroup: FlushGroup,
    chargedBytes: number,
    waitsFor: 'topic' | 'memory',
    signal: AbortSignal | undefined,
    onTimeout: (waiting: WaitingRecord) => void,
  ) {
    super();
    this.topic = topic;
    this.record = record;
    this.first = first;
    this.second = second;
    this.flushGroup = flushGroup;
    this.chargedBytes = chargedBytes;
    this.waitsFor = waitsFor;
    this.signal = signal;
    this.#onTimeout = onTimeout;
  }

  onDue(): void {
    this.#onTimeout(this);
  }
}

function ownBytes(bytes: RecordBytes): RecordBytes {
  return bytes instanceof Uint8Array ? Uint8Array.prototype.slice.call(bytes) : bytes;
}

/** The record as it is at the call: a caller may reuse its buffers at once, whether or not the record had to wait. */
export function ownRecord(record: ProducerRecord, timestamp: number): ProducerRecord {
  const { topic, key, value, headers, partition } = record;
  return {
    // What else the application put there may matter to its partitioner.
    ...record,
    topic,
    value: ownBytes(value),
    timestamp,
    ...(key === undefined ? {} : { key: ownBytes(key) }),
    ...(partition === undefined ? {} : { partition }),
    ...(headers === undefined ? {} : { headers: ownHeaders(headers) }),
  };
}

function ownHeaders(headers: RecordHeaders): RecordHeaders {
  if (Array.isArray(headers)) {
    return (headers as readonly (readonly [string, RecordBytes])[]).map(
      ([name, value]) => [name, ownBytes(value)] as const,
    );
  }
  const own: [string, RecordBytes][] = [];
  for (const [name, value] of Object.entries(headers as Record<string, RecordBytes | readonly RecordBytes[]>)) {
    if (Array.isArray(value)) for (const each of value as readonly RecordBytes[]) own.push([name, ownBytes(each)]);
    else own.push([name, ownBytes(value as RecordBytes)]);
  }
  return own;
}
