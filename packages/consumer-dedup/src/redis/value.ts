import { StoreSetupError } from '../errors.ts';
import type { ClaimRequest, DoneAnswer, HeldAnswer, LeasedAnswer, StoredRecord } from '../store.ts';

/** See `scripts.ts` for the layout. */
const FENCE_AT = 1;
const ATTEMPT_AT = 9;
const CLAIMED_AT = 25;
const HEADER_BYTES = 33;
const TAKEOVER = 'T'.charCodeAt(0);

/** The message of a claim: where it lies, its fingerprint and its note if it has one, as JSON; then a line feed, which JSON has none of. */
export function encodeMessage({ source, fingerprint, note }: ClaimRequest): string {
  const { topic, partition, offset } = source;
  const fields = [topic, partition, offset === null ? null : String(offset), fingerprint?.toString('base64') ?? null];
  if (note !== null) fields.push(note);
  return `${JSON.stringify(fields)}\n`;
}

/** Reads the answers of the claim script. */
export function decodeAnswers([first, ...answers]: readonly unknown[]): (DoneAnswer | LeasedAnswer | HeldAnswer)[] {
  // Without its state byte.
  const claim = first as Buffer;
  const fresh: LeasedAnswer = {
    state: 'leased',
    fence: claim.readDoubleBE(FENCE_AT - 1),
    attempt: claim.readDoubleBE(ATTEMPT_AT - 1),
    claimedAtMs: claim.readDoubleBE(CLAIMED_AT - 1),
    takeover: false,
  };
  return answers.map((answer) => (answer === 1 ? fresh : decodeAnswer(answer as Buffer)));
}

function decodeAnswer(answer: Buffer): DoneAnswer | LeasedAnswer | HeldAnswer {
  switch (String.fromCharCode(answer[0]!)) {
    case 'L':
      return {
        state: 'leased',
        fence: answer.readDoubleBE(FENCE_AT),
        attempt: answer.readDoubleBE(ATTEMPT_AT),
        claimedAtMs: answer.readDoubleBE(CLAIMED_AT),
        takeover: answer[HEADER_BYTES] === TAKEOVER,
      };
    case 'H':
      return { state: 'held', remainingMs: answer.readDoubleBE(1) };
    case 'D':
      return { state: 'done', record: decodeRecord(answer, false) };
    case 'R':
      return { state: 'done', record: decodeRecord(answer, true) };
    default:
      throw new StoreSetupError(
        'a key holds something that this package did not write; give the store a prefix of its own',
      );
  }
}

function decodeRecord(value: Buffer, hasResult: boolean): StoredRecord {
  const resultAt = value.indexOf('\n', HEADER_BYTES) + 1;
  const [topic, partition, offset, fingerprint, note = null] = JSON.parse(
    value.toString('utf8', HEADER_BYTES, resultAt),
  ) as [string | null, number | null, string | null, string | null, string?];
  return {
    processedAtMs: value.readDoubleBE(CLAIMED_AT),
    source: { topic, partition, offset: offset === null ? null : BigInt(offset) },
    fingerprint: fingerprint === null ? null : Buffer.from(fingerprint, 'base64'),
    note,
    result: hasResult ? value.toString('utf8', resultAt) : null,
  };
}
