import type { Figures } from './load.ts';

export type Load = '2000' | '10' | '1' | 'enqueue';
export type Row = Partial<Figures> & { readonly recordsPerSecond: number; readonly brokerCores?: number };

interface Bar {
  readonly load: Load;
  readonly other: string;
  readonly text: string;
  /** Ours and theirs: the share that was reached, and the least that is wanted. */
  readonly share: (ours: Row, other: Row) => number;
  readonly least: number;
}

const rate = (ours: Row, other: Row) => ours.recordsPerSecond / other.recordsPerSecond;
const latency = (ours: Row, other: Row) => (other.latencyUs ?? Number.NaN) / (ours.latencyUs ?? Number.NaN);

const all: readonly Bar[] = [
  { load: '2000', other: 'probe', text: 'send(), 2,000 callers: at least 70 % of the probe', share: rate, least: 0.7 },
  { load: '2000', other: 'kafka-ts', text: 'send(), 2,000 callers: at least 5 × kafka-ts', share: rate, least: 5 },
  { load: '10', other: 'probe', text: 'send(), 10 callers: at least 70 % of the probe', share: rate, least: 0.7 },
  {
    load: '1',
    other: 'probe',
    text: 'one caller: median latency within 10 % of the probe',
    share: latency,
    least: 1 / 1.1,
  },
  { load: 'enqueue', other: 'franz-go', text: 'enqueue(): at least franz-go', share: rate, least: 1 },
];

/** One line for each bar of which both sides were measured. */
export function bars(rows: ReadonlyMap<Load, ReadonlyMap<string, Row>>): string[] {
  return all.flatMap(({ load, other, text, share, least }) => {
    const [ours, theirs] = [rows.get(load)?.get('sendonce'), rows.get(load)?.get(other)];
    if (!ours || !theirs) return [];
    const reached = share(ours, theirs);
    return [`${reached >= least ? 'holds    ' : 'NOT HELD '} ${text} (${reached.toFixed(2)})`];
  });
}
