import { createHash } from 'node:crypto';
import type { Attributes } from '@opentelemetry/api';
import type { RecordBytes } from '@sendonce/producer-core';
import type { KeyAttribute } from './options.ts';
import { previousNames } from './semconv.ts';

/** Adds previous names where they were asked for. */
export type NameAttributes = (attributes: Attributes) => Attributes;

export function attributeNaming(names: 'current' | 'both'): NameAttributes {
  if (names === 'current') return (attributes) => attributes;
  return (attributes) => {
    for (const [current, previous] of previousNames) {
      if (attributes[current] !== undefined) attributes[previous] = attributes[current];
    }
    return attributes;
  };
}

const hashLength = 32;

/** A key as an attribute's value, or nothing. Keys that are not text are shown only by their hash. */
export function keyShown(key: RecordBytes | undefined, how: KeyAttribute): string | undefined {
  if (how === 'off' || key === undefined || key === null) return undefined;
  if (typeof how === 'function') {
    const shown: unknown = how(key);
    return typeof shown === 'string' ? shown : undefined;
  }
  if (how === 'hash') return createHash('sha256').update(key).digest('hex').slice(0, hashLength);
  if (typeof key === 'string') return key;
  const text = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('utf8');
  return text.includes('\uFFFD') ? undefined : text;
}

/** The protocol's 64-bit offset as an integer attribute; left out where a number can't hold it exactly, or it is not known. */
export function offsetShown(offset: bigint | null): number | undefined {
  return offset === null || offset < 0n || offset > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(offset);
}
