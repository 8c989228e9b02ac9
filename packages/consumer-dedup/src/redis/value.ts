import { StoreSetupError } from '../errors.ts';
import type { ClaimRequest, DoneAnswer, HeldAnswer, LeasedAnswer, StoredRecord } from '../store.ts';

/** See `key-scripts.ts` for the layout. */
const FENCE_AT = 1;
const ATTEMPT_AT = 9;
const CLAIMED_AT = 25;
const HEADER_BYTES = 33;
const TAKEOVER = 'T'.charCodeAt(0);
const WITH_RESULT = 'R'.charCodeAt(0);

/** Characters of a shared lease's id. */
export const ID_BYTES = 22;

/** The message of a claim: where it lies, its fingerprint and its note if it has one, as JSON; then a line feed, which JSON has none of. */
export function encodeMessage({ source, fingerprint, note }: ClaimRequest): string {
  const { topic, partition, offset } = source;
  const fields = [topic, partition, offset === null ? null : String(offset), fingerprint?.toString('base64') ?? null];
  if (note !== null) fields.push(note);
  return `${JSON.stringify(fields)}\n`;
}

export function encodeResult(result: string | null): string {
  return result === null ? '' : `-${result}`;
}

/** A key was claimed together with others: what became of it, their lease knows. */
export interface SharedAnswer {
  readonly state: 'shared';
  readonly leaseId: string;
  /** Its place in that lease. */
  readonly index: number;
  readonly value: Buffer;
}

/** Reads the claim of all keys that nobody had yet, which comes without a state byte. */
export function decodeClaim(claim: Buffer): LeasedAnswer {
  return {
    state: 'leased',
    fence: claim.readDoubleBE(FENCE_AT - 1),
    attempt: claim.readDoubleBE(ATTEMPT_AT - 1),
    claimedAtMs: claim.readDoubleBE(CLAIMED_AT - 1),
    takeover: false,
  };
}

/** Reads the answer to a claim of a key that had a value. */
export function decodeAnswer(answer: Buffer): DoneAnswer | LeasedAnswer | HeldAnswer | SharedAnswer {
  switch (String.fromCharCode(answer[0]!)) {
    case 'L':
      return { ...decodeClaim(answer.subarray(1)), takeover: answer[HEADER_BYTES] === TAKEOVER };
    case 'H':
      return { state: 'held', remainingMs: answer.readDoubleBE(1) };
    case 'S':
      return {
        state: 'shared',
        leaseId: answer.toString('latin1', 2),
        index: answer[1]!,
        value: answer,
      };
    case 'D':
    case 'R': {
      const [message, resultAt] = messageAt(answer, HEADER_BYTES);
      const result = answer[0] === WITH_RESULT ? answer.toString('utf8', resultAt) : null;
      return { state: 'done', record: recordOf(message, answer.readDoubleBE(CLAIMED_AT), result) };
    }
    default:
      throw new StoreSetupError(
        'a key holds something that this package did not write; give the store a prefix of its own',
      );
  }
}

/** Reads the messages of a lease, which follow on one another. */
export function* decodeMessages(messages: Buffer, claimedAtMs: number): Generator<StoredRecord> {
  for (let at = 0; at < messages.length; ) {
    const [message, end] = messageAt(messages, at);
    yield recordOf(message, claimedAtMs, null);
    at = end;
  }
}

function messageAt(bytes: Buffer, at: number): [message: string, end: number] {
  const end = bytes.indexOf('\n', at) + 1;
  return [bytes.toString('utf8', at, end), end];
}

function recordOf(message: string, processedAtMs: number, result: string | null): StoredRecord {
  const [topic, partition, offset, fingerprint, note = null] = JSON.parse(message) as [
    string | null,
    number | null,
    string | null,
    string | null,
    string?,
  ];
  return {
    processedAtMs,
    source: { topic, partition, offset: offset === null ? null : BigInt(offset) },
    fingerprint: fingerprint === null ? null : Buffer.from(fingerprint, 'base64'),
    note,
    result,
  };
}
