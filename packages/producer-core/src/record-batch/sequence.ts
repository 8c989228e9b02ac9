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

/** Whether `sequence` comes after `other`, for two that are less than half of the range apart: the range goes round. */
export function isSequenceAfter(sequence: number, other: number): boolean {
  const distance = (sequence - other) & 0x7fffffff;
  return distance > 0 && distance < 0x40000000;
}
