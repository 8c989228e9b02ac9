import { ConfigError } from './errors.ts';
import { kindOf, type ProducerRecord } from './record.ts';
import { headerPairs } from './record-batch/record-size.ts';

/** Where consumers look for a record's business key unless told otherwise (rule D1). */
const headerName = 'idempotency-key';

/** Reads a record's business key; `undefined` when it has none. Called once a record, synchronously. */
export type IdempotencyKeyReader = (record: ProducerRecord) => string | Uint8Array | undefined;

/**
 * The record with the header `idempotency-key` added after its own headers. A header of that name that is there already wins,
 * and the caller's record is not touched.
 * @throws {ConfigError} when `read` throws or returns what can't be a key.
 */
export function withIdempotencyKey(record: ProducerRecord, read: IdempotencyKeyReader): ProducerRecord {
  const pairs = headerPairs(record.headers);
  if (pairs.some(([name]) => name === headerName)) return record;
  const idempotencyKey = readKey(record, read);
  if (idempotencyKey === undefined) return record;
  const { topic, key, value, partition, timestamp } = record;
  return { topic, key, value, headers: [...pairs, [headerName, idempotencyKey]], partition, timestamp };
}

function readKey(record: ProducerRecord, read: IdempotencyKeyReader): string | Uint8Array | undefined {
  let key: unknown;
  try {
    key = read(record);
  } catch (cause) {
    throw wrongKey('threw', 'Correct it, or return undefined for a record without a key.', { cause });
  }
  if (key === undefined) return undefined;
  if (typeof key !== 'string' && !(key instanceof Uint8Array)) {
    throw wrongKey(`returned ${kindOf(key)}`, 'Return text, bytes, or undefined for a record without a key.');
  }
  if (key.length === 0) {
    throw wrongKey('returned an empty key', 'Every record that has it would be taken for the same one.');
  }
  // UTF-8 would turn a lone surrogate into U+FFFD, and two different keys into one.
  if (typeof key === 'string' && !key.isWellFormed()) {
    throw wrongKey('returned text with a lone surrogate', 'Return bytes instead.');
  }
  return key;
}

function wrongKey(what: string, advice: string, options?: ErrorOptions): ConfigError {
  return new ConfigError(
    `Option idempotencyKey ${what}. ${advice} Nothing of the record was kept.`,
    ['idempotencyKey'],
    options,
  );
}
