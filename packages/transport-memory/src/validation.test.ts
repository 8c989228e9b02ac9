import { describe, expect, it } from 'vitest';
import { ProducerEntry } from './producer-state.ts';
import { profiles } from './profile.ts';
import { validateBatch } from './validation.ts';

const sequenceMax = 2 ** 31 - 1;

/** An entry at `epoch` that remembers batches with the given ranges; the first lies at offset 100. */
function entry(epoch: number, ...ranges: readonly (readonly [first: number, last: number])[]): ProducerEntry {
  const made = new ProducerEntry(epoch, 0);
  let baseOffset = 100;
  for (const [baseSequence, lastSequence] of ranges) {
    const count = lastSequence >= baseSequence ? lastSequence - baseSequence + 1 : 1;
    const lastOffset = baseOffset + count - 1;
    made.add(epoch, { baseSequence, lastSequence, baseOffset, lastOffset, timestampMs: 0 }, 0);
    baseOffset = lastOffset + 1;
  }
  return made;
}

const five = entry(3, [0, 1], [2, 3], [4, 5], [6, 7], [8, 9]);
const six = entry(3, [0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]);

interface Row {
  readonly knows: string;
  readonly entry: ProducerEntry | undefined;
  readonly batch: readonly [epoch: number, first: number, last: number];
  readonly tutorial: string;
  readonly kafka4?: string;
}

const rows: readonly Row[] = [
  { knows: 'nothing', entry: undefined, batch: [0, 0, 0], tutorial: 'accept' },
  { knows: 'nothing', entry: undefined, batch: [7, 0, 4], tutorial: 'accept' },
  { knows: 'nothing', entry: undefined, batch: [0, 1, 1], tutorial: '59 expected 0', kafka4: 'accept' },
  { knows: 'nothing', entry: undefined, batch: [0, sequenceMax, 2], tutorial: '59 expected 0', kafka4: 'accept' },

  { knows: 'epoch 3', entry: five, batch: [2, 10, 11], tutorial: '47 expected null' },
  { knows: 'epoch 3', entry: five, batch: [2, 0, 0], tutorial: '47 expected null' },
  { knows: 'epoch 3', entry: five, batch: [2, 8, 9], tutorial: '47 expected null' },

  { knows: 'epoch 3', entry: five, batch: [4, 0, 0], tutorial: 'accept' },
  { knows: 'epoch 3', entry: five, batch: [9, 0, 9], tutorial: 'accept' },
  { knows: 'epoch 3', entry: five, batch: [4, 10, 11], tutorial: '45 expected 0' },
  { knows: 'epoch 3', entry: five, batch: [4, 8, 9], tutorial: '45 expected 0' },

  { knows: '0-9 in five batches', entry: five, batch: [3, 10, 10], tutorial: 'accept' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 10, 19], tutorial: 'accept' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 8, 9], tutorial: 'duplicate of 108-109' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 4, 5], tutorial: 'duplicate of 104-105' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 0, 1], tutorial: 'duplicate of 100-101' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 8, 8], tutorial: '45 expected 10' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 8, 10], tutorial: '45 expected 10' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 9, 9], tutorial: '45 expected 10' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 6, 9], tutorial: '45 expected 10' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 9, 10], tutorial: '45 expected 10' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 11, 11], tutorial: '45 expected 10' },
  { knows: '0-9 in five batches', entry: five, batch: [3, 0, 0], tutorial: '45 expected 10' },

  { knows: '0-11, the first forgotten', entry: six, batch: [3, 0, 1], tutorial: '45 expected 12' },
  { knows: '0-11, the first forgotten', entry: six, batch: [3, 2, 3], tutorial: 'duplicate of 102-103' },

  { knows: 'up to the largest', entry: entry(0, [sequenceMax, sequenceMax]), batch: [0, 0, 3], tutorial: 'accept' },
  {
    knows: 'up to the largest',
    entry: entry(0, [sequenceMax, sequenceMax]),
    batch: [0, 1, 3],
    tutorial: '45 expected 0',
  },
  {
    knows: 'one that wraps',
    entry: entry(0, [sequenceMax, 1]),
    batch: [0, sequenceMax, 1],
    tutorial: 'duplicate of 100-100',
  },
  { knows: 'one that wraps', entry: entry(0, [sequenceMax, 1]), batch: [0, 2, 2], tutorial: 'accept' },

  { knows: 'a batch without an epoch', entry: entry(-1, [0, 2]), batch: [-1, 9, 9], tutorial: 'accept' },
  { knows: 'a batch without an epoch', entry: entry(-1, [0, 2]), batch: [-1, 0, 2], tutorial: 'duplicate of 100-102' },
  { knows: 'a batch without an epoch', entry: entry(-1, [0, 2]), batch: [0, 9, 9], tutorial: 'accept' },
];

describe.each(['tutorial', 'kafka-4'] as const)('profile %s', (profile) => {
  it.each(rows)('M2: knows $knows, gets $batch', ({ entry, batch, tutorial, kafka4 = tutorial }) => {
    const [producerEpoch, baseSequence, lastSequence] = batch;
    const verdict = validateBatch(entry, { producerEpoch, baseSequence, lastSequence }, profiles[profile]);
    const answer =
      verdict.kind === 'accept'
        ? 'accept'
        : verdict.kind === 'duplicate'
          ? `duplicate of ${verdict.batch.baseOffset}-${verdict.batch.lastOffset}`
          : `${verdict.errorCode} expected ${verdict.expectedSequence}`;
    expect(answer).toBe(profile === 'tutorial' ? tutorial : kafka4);
  });
});

describe('M2: a refusal names the numbers that a reader of the event looks for', () => {
  it.each([
    ['an unknown producer', undefined, [0, 7, 8], ['no record of this producer id', 'sequence 7']],
    ['an older epoch', five, [2, 10, 11], ['epoch 2 is older', 'epoch 3']],
    ['a new epoch that does not start at 0', five, [4, 10, 11], ['epoch 4 is new', 'sequence 0', '10']],
    ['a gap', five, [3, 12, 13], ['expected sequence 10', '12']],
  ] as const)('%s', (_, known, [producerEpoch, baseSequence, lastSequence], words) => {
    const verdict = validateBatch(known, { producerEpoch, baseSequence, lastSequence }, profiles.tutorial);
    const reason = verdict.kind === 'refuse' ? verdict.reason : verdict.kind;
    for (const word of words) expect(reason).toContain(word);
  });
});
