import type { ClaimRequest } from '../store.ts';

/** Above this many keys, sending parameters in a form of their own is cheaper than the round trip it costs. */
const MAX_KEYS = 4;

/**
 * The arguments of a claim as SQL text, so that a claim of few keys can travel with its BEGIN. All that comes from a message is hexadecimal
 * or a checked integer here: nothing in it can be taken for SQL, whatever the server's settings. `null` where parameters must be used.
 */
export function claimLiterals(
  epoch: number,
  waitMs: number,
  namespace: string,
  requests: readonly ClaimRequest[],
): string | null {
  if (requests.length > MAX_KEYS) return null;
  const partitions = requests.map(({ source }) => source.partition);
  if (![epoch, waitMs, ...partitions].every((each) => each === null || Number.isSafeInteger(each))) return null;
  return [
    String(epoch),
    `'${waitMs}'`,
    text(namespace),
    array('bytea', requests, ({ key }) => bytes(key)),
    array('bytea', requests, ({ fingerprint }) => bytes(fingerprint)),
    array('text', requests, ({ source }) => text(source.topic)),
    array('int4', partitions, (partition) => (partition === null ? 'NULL' : String(partition))),
    array('int8', requests, ({ source }) => (source.offset === null ? 'NULL' : BigInt(source.offset).toString())),
    array('text', requests, ({ note }) => text(note)),
  ].join(', ');
}

function array<T>(type: string, values: readonly T[], literal: (value: T) => string): string {
  return `ARRAY[${values.map(literal).join(', ')}]::${type}[]`;
}

function bytes(value: Buffer | null): string {
  return value === null ? 'NULL' : `decode('${value.toString('hex')}', 'hex')`;
}

function text(value: string | null): string {
  return value === null ? 'NULL' : `convert_from(${bytes(Buffer.from(String(value)))}, 'UTF8')`;
}
