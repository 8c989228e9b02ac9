import type { ProducerOptions } from '@sendonce/producer-core';

export interface BenchCase {
  readonly name: string;
  readonly call: 'send' | 'enqueue' | 'sendBatch';
  readonly value: string;
  readonly partitions: number;
  /** `send`: how many wait for their acknowledgement at once. */
  readonly callers: number;
  /** `enqueue`: records between two turns of the event loop. */
  readonly recordsPerTurn: number;
  /** `enqueue`: records in a row for one partition. */
  readonly runLength: number;
  readonly options: Partial<ProducerOptions>;
  /** `memory`: the memory broker. `none`: nobody stores anything, and the cost is the producer's alone. */
  readonly broker: 'memory' | 'none';
}

export interface Figures {
  readonly recordsPerSecond: number;
  readonly cpuNsPerRecord: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly heapMiB: number;
  readonly buffersMiB: number;
}

const small = 'x'.repeat(100);
const large = 'x'.repeat(1_024);
const usual = {
  partitions: 1,
  callers: 2_000,
  recordsPerTurn: 5_000,
  runLength: 1,
  options: {},
  broker: 'memory',
} as const;

/** A full batch of 16 KiB holds this many records of 100 bytes. */
const recordsPerFullBatch = 147;
const spreadPartitionsMax = 1_000;

/** The same number of full batches of the same fill, whatever the number of partitions. */
function spread(
  partitions: number,
  runLength = recordsPerFullBatch,
  broker: BenchCase['broker'] = 'memory',
): BenchCase {
  return {
    ...usual,
    runLength,
    broker,
    name: `${broker === 'none' ? 'producer-alone' : 'full-batches'}-${partitions}-partitions${runLength === 1 ? '-by-turns' : ''}`,
    call: 'enqueue',
    value: small,
    partitions,
    recordsPerTurn: recordsPerFullBatch * spreadPartitionsMax,
    options: { batchSize: 16_384, bufferMemory: 134_217_728 },
  };
}

export const benchCases: readonly BenchCase[] = [
  { ...usual, name: 'send-100B', call: 'send', value: small },
  { ...usual, name: 'send-100B-100-partitions', call: 'send', value: small, partitions: 100 },
  { ...usual, name: 'send-1KiB', call: 'send', value: large },
  { ...usual, name: 'send-1KiB-100-partitions', call: 'send', value: large, partitions: 100 },
  { ...usual, name: 'send-100B-10-callers', call: 'send', value: small, callers: 10 },
  { ...usual, name: 'send-100B-1-caller', call: 'send', value: small, callers: 1 },
  { ...usual, name: 'enqueue-100B', call: 'enqueue', value: small },
  { ...usual, name: 'enqueue-100B-100-partitions', call: 'enqueue', value: small, partitions: 100 },
  { ...usual, name: 'enqueue-1KiB', call: 'enqueue', value: large },
  { ...usual, name: 'enqueue-1KiB-100-partitions', call: 'enqueue', value: large, partitions: 100 },
  { ...usual, name: 'sendBatch-1000x100B', call: 'sendBatch', value: small },
  { ...usual, name: 'sendBatch-1000x100B-100-partitions', call: 'sendBatch', value: small, partitions: 100 },
  { ...usual, name: 'sendBatch-1000x1KiB', call: 'sendBatch', value: large },
  spread(1),
  spread(10),
  spread(100),
  spread(spreadPartitionsMax),
  spread(spreadPartitionsMax, 1),
  spread(1, recordsPerFullBatch, 'none'),
  spread(100, recordsPerFullBatch, 'none'),
  spread(spreadPartitionsMax, recordsPerFullBatch, 'none'),
];

export interface Bar {
  readonly what: string;
  readonly holds: (figures: ReadonlyMap<string, Figures>) => boolean;
}

export const bars: readonly Bar[] = [
  {
    what: 'send(), 2,000 callers, 100 bytes: at least 400,000 records/s',
    holds: (figures) => figures.get('send-100B')!.recordsPerSecond >= 400_000,
  },
  {
    what: 'enqueue(), 100 bytes: at least 1,000,000 records/s',
    holds: (figures) => figures.get('enqueue-100B')!.recordsPerSecond >= 1_000_000,
  },
  {
    what: 'cost per record within 20 % between 1 and 1,000 partitions at the same batch fill',
    holds: (figures) => isWithin20Percent(figures, 'full-batches'),
  },
  {
    what: 'the same for the producer alone',
    holds: (figures) => isWithin20Percent(figures, 'producer-alone'),
  },
];

function isWithin20Percent(figures: ReadonlyMap<string, Figures>, cases: string): boolean {
  const one = figures.get(`${cases}-1-partitions`)!.cpuNsPerRecord;
  const many = figures.get(`${cases}-${spreadPartitionsMax}-partitions`)!.cpuNsPerRecord;
  return Math.abs(many - one) <= 0.2 * Math.min(many, one);
}
