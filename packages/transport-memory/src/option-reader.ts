import { ConfigError } from '@sendonce/producer-core/transport';
import type { DelayRange } from './delay-line.ts';

/** Turns what the caller gave for one field, undefined included, into its value, or throws a ConfigError that names the field. */
export type FieldReader<T> = (given: unknown, field: string) => T;

export type FieldReaders<T> = { readonly [K in keyof T]-?: FieldReader<T[K]> };

/**
 * Reads an options object field by field (rule C15).
 * @throws {ConfigError} on a wrong type or value, and on a field that nobody knows.
 */
export function readOptions<T>(what: string, given: unknown, readers: FieldReaders<T>): T {
  if (!isPlainObject(given)) {
    throw new ConfigError(`${what} must be a plain object, not ${describe(given)}`, [what]);
  }
  const known = Object.keys(readers);
  for (const field of Object.keys(given)) {
    if (known.includes(field)) continue;
    throw new ConfigError(`${what} has no option "${field}". It has: ${known.join(', ')}`, [field]);
  }
  const fields = given as Partial<Record<string, unknown>>;
  const values = Object.entries<FieldReader<unknown>>(readers).map(([field, read]) => [
    field,
    read(fields[field], field),
  ]);
  return Object.fromEntries(values) as T;
}

/** A Map, say, holds its entries elsewhere: it would be taken for an object without any. */
export function isPlainObject(given: unknown): given is Record<string, unknown> {
  if (typeof given !== 'object' || given === null) return false;
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export function fail(field: string, expected: string, given: unknown): never {
  throw new ConfigError(`${field} must be ${expected}, not ${describe(given)}`, [field]);
}

interface NumberBounds {
  readonly min?: number;
  readonly max?: number;
}

/** `byDefault` undefined: there is none. */
export function wholeNumber(
  byDefault: number | undefined,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: NumberBounds = {},
): FieldReader<number> {
  return (given = byDefault, field) => {
    if (Number.isSafeInteger(given) && (given as number) >= min && (given as number) <= max) return given as number;
    return fail(field, `a whole number from ${min} to ${max}`, given);
  };
}

/** A whole number, or Infinity for no limit. */
export function limit(byDefault: number, { min = 0 }: NumberBounds = {}): FieldReader<number> {
  return (given = byDefault, field) => {
    if (given === Number.POSITIVE_INFINITY || (Number.isSafeInteger(given) && (given as number) >= min))
      return given as number;
    return fail(field, `a whole number from ${min}, or Infinity`, given);
  };
}

export function number(
  byDefault: number,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: NumberBounds = {},
): FieldReader<number> {
  return (given = byDefault, field) => {
    if (typeof given === 'number' && given >= min && given <= max) return given;
    return fail(field, `a number from ${min} to ${max}`, given);
  };
}

/** An array of what `readItem` takes; the message names the first that is wrong. */
export function arrayOf<T>(
  what: string,
  readItem: FieldReader<T>,
  { min = 0 }: { readonly min?: number } = {},
): FieldReader<T[]> {
  return (given, field) => {
    if (!Array.isArray(given) || given.length < min) {
      return fail(field, `an array of ${what}${min > 0 ? `, ${min} or more` : ''}`, given);
    }
    return Array.from(given, (item: unknown, index) => readItem(item, `${field}[${index}]`));
  };
}

export function optional<T>(read: FieldReader<T>): FieldReader<T | undefined> {
  return (given, field) => (given === undefined ? undefined : read(given, field));
}

export function oneOf<const T extends string>(choices: readonly T[], byDefault: T): FieldReader<T> {
  return (given = byDefault, field) => {
    const choice = choices.find((each) => each === given);
    return choice ?? fail(field, `one of ${choices.map((each) => `"${each}"`).join(', ')}`, given);
  };
}

export const flag: FieldReader<boolean> = (given, field) =>
  typeof given === 'boolean' ? given : fail(field, 'true or false', given);

export const text: FieldReader<string> = (given, field) =>
  typeof given === 'string' && given !== '' ? given : fail(field, 'a string that is not empty', given);

/** A duration in milliseconds, or the two between which one is drawn each time. */
export type DelayOption = number | DelayRange;

export function delay(byDefault: DelayOption): FieldReader<DelayRange> {
  return (given = byDefault, field) => {
    if (typeof given === 'number') return { minMs: durationMs(given, field), maxMs: given };
    if (typeof given !== 'object' || given === null) return fail(field, 'milliseconds, or { minMs, maxMs }', given);
    const { minMs, maxMs } = given as { readonly minMs?: unknown; readonly maxMs?: unknown };
    const range = { minMs: durationMs(minMs, `${field}.minMs`), maxMs: durationMs(maxMs, `${field}.maxMs`) };
    return range.minMs <= range.maxMs ? range : fail(field, '{ minMs, maxMs } with minMs at most maxMs', given);
  };
}

export const duration: FieldReader<number> = (given, field) => durationMs(given, field);

function durationMs(given: unknown, field: string): number {
  const isDuration = typeof given === 'number' && Number.isFinite(given) && given >= 0;
  return isDuration ? given : fail(field, 'milliseconds, 0 or more', given);
}

/** What was given, for messages. */
export function describe(given: unknown): string {
  if (typeof given === 'string') return JSON.stringify(given);
  if (Array.isArray(given)) return given.length === 0 ? 'an empty array' : 'an array';
  if (typeof given === 'object' && given !== null) {
    return isPlainObject(given) ? 'an object' : `an object (${given.constructor?.name})`;
  }
  return typeof given === 'bigint' ? `${given}n` : typeof given === 'function' ? 'a function' : String(given);
}
