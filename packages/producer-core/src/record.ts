import { ConfigError, SendonceError } from './errors.ts';

export type RecordBytes = Uint8Array | string | null;

/** Headers as Kafka keeps them: ordered, a name may repeat, a value may be null. An object is the short form. */
export type RecordHeaders =
  | readonly (readonly [name: string, value: RecordBytes])[]
  | Readonly<Record<string, RecordBytes | readonly RecordBytes[]>>;

/** What an application sends. Strings are written as UTF-8. */
export interface ProducerRecord {
  /** Not empty. */
  readonly topic: string;
  /** Decides the partition unless `partition` does. `null` or absent: any partition. */
  readonly key?: RecordBytes | undefined;
  /** `null` is a tombstone. */
  readonly value: RecordBytes;
  readonly headers?: RecordHeaders | undefined;
  /** Overrides the partitioner. */
  readonly partition?: number | undefined;
  /** Milliseconds since 1970-01-01 UTC; the time of the call by default. Old ones weaken retries: rule C19. */
  readonly timestamp?: number | undefined;
}

/** What all records of an acknowledged batch share. */
export interface BatchAcknowledgement {
  readonly topic: string;
  readonly partition: number;
  /** -1n: stored, but no answer said where. */
  readonly baseOffset: bigint;
  /** -1 unless the topic uses LogAppendTime. */
  readonly logAppendTimeMs: number;
}

const inspect = Symbol.for('nodejs.util.inspect.custom');

/** Where an acknowledged record is stored. */
export class RecordMetadata {
  readonly #batch: BatchAcknowledgement;
  readonly #index: number;
  readonly #timestamp: number;

  constructor(batch: BatchAcknowledgement, index: number, timestamp: number) {
    this.#batch = batch;
    this.#index = index;
    this.#timestamp = timestamp;
  }

  get topic(): string {
    return this.#batch.topic;
  }

  get partition(): number {
    return this.#batch.partition;
  }

  /** -1n when the record is certainly stored but no answer said where. Computed when read: a BigInt a record costs. */
  get offset(): bigint {
    const { baseOffset } = this.#batch;
    return baseOffset < 0n ? -1n : baseOffset + BigInt(this.#index);
  }

  /** Milliseconds since 1970-01-01 UTC: the record's, or the broker's where the topic uses LogAppendTime. */
  get timestamp(): number {
    const { logAppendTimeMs } = this.#batch;
    return logAppendTimeMs < 0 ? this.#timestamp : logAppendTimeMs;
  }

  /** With the offset as text, since JSON has no BigInt. */
  toJSON(): { topic: string; partition: number; offset: string; timestamp: number } {
    const { topic, partition, timestamp } = this;
    return { topic, partition, offset: String(this.offset), timestamp };
  }

  [inspect](): { topic: string; partition: number; offset: bigint; timestamp: number } {
    const { topic, partition, offset, timestamp } = this;
    return { topic, partition, offset, timestamp };
  }
}

/** Names what a value is, for messages: never what it holds. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value === undefined) return 'undefined';
  if (typeof value === 'object') return `an object (${value.constructor?.name ?? 'no prototype'})`;
  return `a ${typeof value}`;
}

/** A number as it is, anything else by its kind. */
export function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : kindOf(value);
}

function isRecordBytes(value: unknown): value is RecordBytes {
  return typeof value === 'string' || value === null || value instanceof Uint8Array;
}

function wrongBytes(field: string, value: unknown): ConfigError {
  const hint = field === 'value' && value === undefined ? ' Write `value: null` for a tombstone.' : '';
  return new ConfigError(
    `The record's ${field} must be a Buffer, Uint8Array, string or null, not ${kindOf(value)}.${hint}`,
    [field],
  );
}

/** A Map, a Date or fetch's Headers has no properties of its own: it would be taken for an object without headers. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

function wrongHeaders(headers: unknown): ConfigError {
  const isIterable = typeof headers === 'object' && headers !== null && Symbol.iterator in headers;
  const hint = isIterable ? ' Where it yields such pairs, write `headers: [...it]`.' : '';
  return new ConfigError(
    `The record's headers must be a plain object or an array of [name, value] pairs, not ${kindOf(headers)}.${hint}`,
    ['headers'],
  );
}

/** @throws {ConfigError} naming the header. */
export function checkHeaders(headers: unknown): void {
  if (headers === null || typeof headers !== 'object') throw wrongHeaders(headers);
  if (Array.isArray(headers)) {
    for (let index = 0; index < headers.length; index++) {
      const pair: unknown = headers[index];
      if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== 'string') {
        throw new ConfigError(`The record's headers[${index}] must be a pair [name, value] with a string name.`, [
          'headers',
        ]);
      }
      if (!isRecordBytes(pair[1])) throw wrongBytes(`headers[${index}] ("${pair[0]}")`, pair[1]);
    }
    return;
  }
  if (!isPlainObject(headers)) throw wrongHeaders(headers);
  for (const [name, value] of Object.entries(headers)) {
    if (Array.isArray(value)) {
      for (const each of value) if (!isRecordBytes(each)) throw wrongBytes(`headers["${name}"][]`, each);
    } else if (!isRecordBytes(value)) throw wrongBytes(`headers["${name}"]`, value);
  }
}

/**
 * Refuses what can't be sent, before anything of it is kept.
 * @throws {ConfigError} naming the field.
 */
export function checkRecord(record: ProducerRecord): void {
  if (record === null || typeof record !== 'object') {
    throw new ConfigError(`A record must be an object { topic, value, … }, not ${kindOf(record)}.`, ['record']);
  }
  const { topic, key, value, headers, partition, timestamp } = record;
  if (typeof topic !== 'string' || topic === '') {
    throw new ConfigError(
      `The record's topic must be a string that is not empty, not ${topic === '' ? "''" : kindOf(topic)}.`,
      ['topic'],
    );
  }
  if (!isRecordBytes(value)) throw wrongBytes('value', value);
  if (key !== undefined && !isRecordBytes(key)) throw wrongBytes('key', key);
  if (headers !== undefined) checkHeaders(headers);
  if (partition !== undefined && !(Number.isInteger(partition) && partition >= 0)) {
    throw new ConfigError(`The record's partition must be a whole number from 0, not ${shown(partition)}.`, [
      'partition',
    ]);
  }
  if (timestamp !== undefined && !(Number.isSafeInteger(timestamp) && timestamp >= 0)) {
    throw new ConfigError(`The record's timestamp must be whole milliseconds since 1970, not ${shown(timestamp)}.`, [
      'timestamp',
    ]);
  }
}

/** What the caller of a send that threw is told: a record that throws when it is read is a record that is wrong. */
export function refusalOf(error: unknown, signal: AbortSignal | undefined): Error {
  if (error instanceof SendonceError) return error;
  if (signal?.aborted === true && error === signal.reason) return error as Error;
  return new ConfigError(
    `The record can't be read: ${error instanceof Error ? error.message : kindOf(error)}. Nothing of it was kept.`,
    ['record'],
    { cause: error },
  );
}

/** The topic of whatever was given as a record. */
export function topicOf(record: unknown): string | null {
  try {
    const topic: unknown = (record as ProducerRecord | null | undefined)?.topic;
    return typeof topic === 'string' ? topic : null;
  } catch {
    return null;
  }
}
