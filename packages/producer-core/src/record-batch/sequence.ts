const sequenceModulus = 2 ** 31;

/** The sequence number of the record `count` places after the one with `sequence`: after 2^31-1 comes 0 (rule C10). */
export function sequenceAfter(sequence: number, count: number): number {
  const sum = sequence + count;
  return sum < sequenceModulus ? sum : sum - sequenceModulus;
}

/** The sequence number of a batch's last record. */
export function lastSequence(baseSequence: number, recordCount: number): number {
  return sequenceAfter(baseSequence, recordCount - 1);
}
