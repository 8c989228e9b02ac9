import { sequenceAfter } from '@sendonce/producer-core/record-batch';
import { protocolErrorCodes } from '@sendonce/producer-core/transport';
import type { NotebookBatch, ProducerEntry } from './producer-state.ts';
import type { ProfileRules } from './profile.ts';

/** The numbers of a batch that decide whether it is new. */
export interface BatchNumbers {
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly lastSequence: number;
}

/** What the leader does with a batch of an idempotent producer. */
export type Verdict =
  | { readonly kind: 'accept' }
  /** Stored before: answered with the offsets of then. */
  | { readonly kind: 'duplicate'; readonly batch: NotebookBatch }
  | {
      readonly kind: 'refuse';
      readonly errorCode: number;
      readonly reason: string;
      /** The sequence number that would have been accepted, where there is one. */
      readonly expectedSequence: number | null;
    };

const accept: Verdict = { kind: 'accept' };

/** An entry that was written without an epoch knows nothing to hold a batch against. */
const noEpoch = -1;

/**
 * Rule M2, as one decision. `entry` is what the partition remembers of the producer id, undefined when it knows nothing.
 *
 * | the partition knows | the batch has | answer |
 * | --- | --- | --- |
 * | nothing | sequence 0 | accept |
 * | nothing | another sequence | `tutorial`: UNKNOWN_PRODUCER_ID (59), `kafka-4`: accept |
 * | a higher epoch | anything | INVALID_PRODUCER_EPOCH (47) |
 * | a lower epoch | sequence 0 | accept, and forget the lower epoch |
 * | a lower epoch | another sequence | OUT_OF_ORDER_SEQUENCE_NUMBER (45) |
 * | the same epoch | the range of one of the last five batches | duplicate |
 * | the same epoch | the sequence after the last one | accept |
 * | the same epoch | anything else | OUT_OF_ORDER_SEQUENCE_NUMBER (45) |
 *
 * So 59 says “I know nothing of you”, and 45 says “I know you, and this is not what comes next”.
 */
export function validateBatch(
  entry: ProducerEntry | undefined,
  { producerEpoch, baseSequence, lastSequence }: BatchNumbers,
  rules: ProfileRules,
): Verdict {
  if (entry === undefined) {
    if (baseSequence === 0 || rules.unknownProducer === 'accept') return accept;
    return refuse(
      protocolErrorCodes.UNKNOWN_PRODUCER_ID,
      `the partition has no record of this producer id, and the batch starts at sequence ${baseSequence} instead of 0`,
      0,
    );
  }
  if (producerEpoch < entry.epoch) {
    return refuse(
      protocolErrorCodes.INVALID_PRODUCER_EPOCH,
      `epoch ${producerEpoch} is older than epoch ${entry.epoch}`,
      null,
    );
  }
  if (producerEpoch > entry.epoch) {
    if (baseSequence === 0 || entry.epoch === noEpoch) return accept;
    return refuse(
      protocolErrorCodes.OUT_OF_ORDER_SEQUENCE_NUMBER,
      `epoch ${producerEpoch} is new and must start at sequence 0, not ${baseSequence}`,
      0,
    );
  }
  const known = entry.find(baseSequence, lastSequence);
  if (known !== undefined) return { kind: 'duplicate', batch: known };
  const expectedSequence = sequenceAfter(entry.lastSequence, 1);
  if (baseSequence === expectedSequence || entry.epoch === noEpoch) return accept;
  return refuse(
    protocolErrorCodes.OUT_OF_ORDER_SEQUENCE_NUMBER,
    `expected sequence ${expectedSequence}, the batch starts at ${baseSequence}`,
    expectedSequence,
  );
}

function refuse(errorCode: number, reason: string, expectedSequence: number | null): Verdict {
  return { kind: 'refuse', errorCode, reason, expectedSequence };
}
