import { hash } from 'node:crypto';
import { DedupConfigError, KeyError } from './errors.ts';
import { parseJsonPointer, resolveJsonPointer } from './json-pointer.ts';
import { type ConsumedMessage, headerValues, type MessageSource } from './message.ts';

/** The header that carries the key unless the caller says otherwise; a producer can set it from the record. */
export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key';

/** What a key may be: text (used as UTF-8), bytes, or an integer (used as its decimal text). */
export type KeyValue = string | Uint8Array | number | bigint;

/**
 * Where the business's key is found (rule D1): a header, a JSON pointer into the value, the record key, or a function.
 * A function that returns `undefined` or `null` says that the message has none.
 */
export type KeySource<M extends ConsumedMessage = ConsumedMessage> =
  | { readonly header: string }
  | { readonly jsonPointer: string }
  | 'record-key'
  | ((message: M) => KeyValue | null | undefined);

/** Keys up to this many bytes are stored as they are; longer ones as their SHA-256, never cut. */
export const MAX_PLAIN_KEY_BYTES = 200;

const HASHED_PREFIX = Buffer.from('sha256:');
const POSITION_PREFIX = Buffer.from('position:');

/** Reads a message's key as the bytes that stores keep; `null` when it has none. Throws {@link KeyError} for one that can't be used. */
export type KeyReader = (message: ConsumedMessage) => Buffer | null;

/** Builds the reader for a {@link KeySource}. Throws {@link DedupConfigError} for one that makes no sense. */
export function createKeyReader(source: KeySource): KeyReader {
  const read = createSourceReader(source);
  return (message) => {
    const value = read(message);
    if (value === null || value === undefined) return null;
    const bytes = keyBytes(value);
    return bytes.length === 0 ? null : storedKey(bytes);
  };
}

function createSourceReader(source: KeySource): (message: ConsumedMessage) => unknown {
  if (typeof source === 'function') return source;
  if (source === 'record-key') return (message) => message.key;
  if (typeof source === 'object' && source !== null) {
    if ('header' in source && typeof source.header === 'string' && source.header !== '') {
      return (message) => onlyHeaderValue(message, source.header);
    }
    if ('jsonPointer' in source && typeof source.jsonPointer === 'string') {
      const tokens = parseJsonPointer(source.jsonPointer, 'key');
      return (message) => {
        const text = textOf(message, source.jsonPointer);
        if (text === null) return undefined;
        const value = resolveJsonPointer(parseJson(text, source.jsonPointer), tokens);
        if (typeof value === 'number') checkIsExact(value, text, tokens);
        return value;
      };
    }
  }
  throw new DedupConfigError(
    `key: write { header: 'name' }, { jsonPointer: '/path' }, 'record-key' or a function, not ${JSON.stringify(source)}`,
    ['key'],
  );
}

function onlyHeaderValue(message: ConsumedMessage, name: string): Uint8Array | string | null {
  const values = headerValues(message.headers, name).filter((value) => value !== null && value !== undefined);
  const first = values[0];
  if (first === undefined) return null;
  if (values.length === 1) return first;
  const bytes = keyBytes(first);
  if (values.some((value) => !keyBytes(value).equals(bytes))) {
    throw new KeyError(
      `the header ${JSON.stringify(name)} is there ${values.length} times with different values`,
      'UNUSABLE_KEY',
    );
  }
  return first;
}

/** Bytes that are no UTF-8 would all become U+FFFD, and two different keys would be one. */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf({ value }: ConsumedMessage, pointer: string): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  try {
    return strictUtf8.decode(value);
  } catch (cause) {
    throw new KeyError(
      `the value is not UTF-8, so the key at ${JSON.stringify(pointer)} can't be read`,
      'UNUSABLE_KEY',
      { cause },
    );
  }
}

/** How a number was written, where the platform tells (Node 22 and later). */
class WrittenNumber {
  readonly text: string | undefined;
  constructor(text: string | undefined) {
    this.text = text;
  }
}

/** JSON.parse rounds: 9007199254740990.6 and 9007199254740991 would be one key. So a number counts only as it is written. */
function checkIsExact(value: number, text: string, tokens: readonly string[]): void {
  const reviver = (_: string, each: unknown, context?: { readonly source?: string }): unknown =>
    typeof each === 'number' ? new WrittenNumber(context?.source) : each;
  const written = resolveJsonPointer(JSON.parse(text, reviver), tokens);
  const source = written instanceof WrittenNumber ? written.text : undefined;
  if (source === undefined || /^-?\d+$/.test(source)) return;
  throw new KeyError(
    `the key is the number ${source}, read as ${value}; send it as text or as an integer`,
    'UNUSABLE_KEY',
  );
}

function parseJson(text: string, pointer: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new KeyError(
      `the value is not JSON, so the key at ${JSON.stringify(pointer)} can't be read`,
      'UNUSABLE_KEY',
      { cause },
    );
  }
}

function keyBytes(value: unknown): Buffer {
  if (value instanceof Uint8Array) return bytesOf(value);
  if (typeof value === 'bigint') return Buffer.from(String(value));
  if (typeof value === 'string') {
    // A lone surrogate would be encoded as U+FFFD, and two different keys would be one.
    if (!value.isWellFormed())
      throw new KeyError('the key is text with a lone surrogate; use bytes instead', 'UNUSABLE_KEY');
    return Buffer.from(value);
  }
  if (typeof value === 'number') {
    // JSON.parse rounds integers past 2^53, so two different keys would be one.
    if (!Number.isSafeInteger(value)) {
      throw new KeyError(`the key is the number ${value}, which is not exact; send it as text`, 'UNUSABLE_KEY');
    }
    return Buffer.from(String(value));
  }
  throw new KeyError(
    `the key is ${value === null ? 'null' : `a ${typeof value}`}; it must be text, bytes or an integer`,
    'UNUSABLE_KEY',
  );
}

/** A short key stays as it is. One that is long, or looks like one of ours, becomes its hash, so that no two keys share a stored form. */
function storedKey(key: Buffer): Buffer {
  const plain =
    key.length <= MAX_PLAIN_KEY_BYTES && !startsWith(key, HASHED_PREFIX) && !startsWith(key, POSITION_PREFIX);
  return plain ? key : hashedKey(key);
}

/** The key of a message that has none of its own: its place in the log. */
export function positionKey({ topic, partition, offset }: MessageSource): Buffer {
  if (topic === null || partition === null || offset === null) {
    throw new KeyError('the message has no key, and no topic, partition and offset to use in its place', 'MISSING_KEY');
  }
  const key = Buffer.concat([POSITION_PREFIX, Buffer.from(`${partition}:${offset}:${topic}`)]);
  return key.length <= MAX_PLAIN_KEY_BYTES ? key : hashedKey(key);
}

function hashedKey(key: Buffer): Buffer {
  return Buffer.concat([HASHED_PREFIX, Buffer.from(hash('sha256', key, 'hex'))]);
}

function startsWith(key: Buffer, prefix: Buffer): boolean {
  // Hardly any key gets past the first byte: 5 ns for both prefixes, where two views took 105.
  return key[0] === prefix[0] && key.subarray(0, prefix.length).equals(prefix);
}

function bytesOf(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
