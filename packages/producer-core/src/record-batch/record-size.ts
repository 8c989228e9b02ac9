import type { RecordBytes, RecordHeaders } from '../record.ts';
import { maxVarintBytes, maxVarlongBytes, varintBytes, varlongBytes } from './varint.ts';

export type HeaderPairs = readonly (readonly [name: string, value: RecordBytes])[];

const noHeaders: HeaderPairs = [];
/** UTF-8 needs at most three bytes for a UTF-16 code unit. */
const utf8BytesPerUnitMax = 3;

function isPairs(headers: RecordHeaders): headers is HeaderPairs {
  return Array.isArray(headers);
}

/** Headers in the order they are written; an object's values that are arrays repeat its name. */
export function headerPairs(headers: RecordHeaders | undefined): HeaderPairs {
  if (headers === undefined) return noHeaders;
  if (isPairs(headers)) return headers;
  const pairs: (readonly [string, RecordBytes])[] = [];
  for (const name of Object.keys(headers)) {
    const value = headers[name]!;
    if (typeof value === 'string' || value === null || value instanceof Uint8Array) pairs.push([name, value]);
    else for (const each of value) pairs.push([name, each]);
  }
  return pairs;
}

function contentBytes(bytes: Uint8Array | string): number {
  return typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;
}

function fieldBytes(bytes: RecordBytes): number {
  if (bytes === null) return 1;
  const length = contentBytes(bytes);
  return varintBytes(length) + length;
}

/** A record's bytes after its length, exactly. */
function recordBodyBytes(
  key: RecordBytes,
  value: RecordBytes,
  pairs: HeaderPairs,
  offsetDelta: number,
  timestampDelta: number,
): number {
  let bytes = 1 + varlongBytes(timestampDelta) + varintBytes(offsetDelta) + fieldBytes(key) + fieldBytes(value);
  bytes += varintBytes(pairs.length);
  for (const [name, content] of pairs) bytes += fieldBytes(name) + fieldBytes(content);
  return bytes;
}

/** Length, offset delta, key length, value length and header count, the timestamp delta, and the attributes. */
const numbersBytesMax = 5 * maxVarintBytes + maxVarlongBytes + 1;

function contentBytesMax(bytes: RecordBytes): number {
  if (bytes === null) return 0;
  return typeof bytes === 'string' ? bytes.length * utf8BytesPerUnitMax : bytes.length;
}

function contentBytesMin(bytes: RecordBytes): number {
  return bytes === null ? 0 : bytes.length;
}

/** No record of these contents has fewer bytes after its length; exactly so many where all text is ASCII, without headers, at delta 0. */
export function recordBodyBytesMin(key: RecordBytes, value: RecordBytes, offsetDelta: number): number {
  const keyBytes = contentBytesMin(key);
  const valueBytes = contentBytesMin(value);
  return 3 + varintBytes(offsetDelta) + varintBytes(keyBytes) + keyBytes + varintBytes(valueBytes) + valueBytes;
}

/** No record of these contents is larger. Costs next to nothing: no string is looked at. */
export function recordBytesMax(key: RecordBytes, value: RecordBytes, pairs: HeaderPairs | null): number {
  let bytes = numbersBytesMax + contentBytesMax(key) + contentBytesMax(value);
  if (pairs !== null) {
    for (let index = 0; index < pairs.length; index++) {
      const pair = pairs[index]!;
      bytes += 2 * maxVarintBytes + contentBytesMax(pair[0]) + contentBytesMax(pair[1]);
    }
  }
  return bytes;
}

/**
 * A record's size in a batch, exactly: `offsetDelta` is its index in the batch, `timestampDelta` its milliseconds after the
 * batch's first record. With the defaults, the size of a batch's first record.
 */
export function encodedRecordSize(
  key: RecordBytes,
  value: RecordBytes,
  headers: RecordHeaders | undefined,
  offsetDelta = 0,
  timestampDelta = 0,
): number {
  const body = recordBodyBytes(key, value, headerPairs(headers), offsetDelta, timestampDelta);
  return varintBytes(body) + body;
}
