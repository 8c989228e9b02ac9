/**
 * Keys live in four tables that take turns ("generations"), so that retention is a TRUNCATE and never a DELETE. A plain
 * time partition would let a key in twice across the boundary (rule D8); here, two transactions can only ever run side by
 * side when there is one table that both insert the key into.
 *
 * An epoch says which tables a transaction uses. Even epochs are steady: generation g is written, g-1 and g-2 are read.
 * Odd ones are the overlap in which both g and g+1 are written.
 *
 *     epoch 2g      writes g           reads g-1, g-2
 *     epoch 2g+1    writes g and g+1   reads g-1, g-2
 *     epoch 2g+2    writes g+1         reads g, g-1
 *
 * Neighbours share a written table, so that its unique index decides between them. Epochs two apart do not: epoch e+1
 * only begins when every transaction of epoch e-1 has ended, and what those wrote is committed and read from then on.
 * Nobody waits for that except the change itself: new transactions go on in epoch e.
 */

export const GENERATION_TABLES = 4;
export const EPOCH_LOCKS = 2;

/** A generation is written for this share of the retention; two older ones are read, so a key stays for all of it. */
const GENERATIONS_PER_RETENTION = 2;

/** Table numbers. */
export interface TablesInUse {
  /** The unique index of each of these decides who is first. */
  readonly written: readonly number[];
  /** Nothing is inserted here any more. */
  readonly read: readonly number[];
}

export function tablesInUse(epoch: number): TablesInUse {
  const generation = Math.floor(epoch / 2);
  const overlap = epoch % 2 === 1;
  return {
    written: overlap ? [tableOf(generation), tableOf(generation + 1)] : [tableOf(generation)],
    read: [tableOf(generation - 1), tableOf(generation - 2)],
  };
}

/** Every transaction of an epoch holds its lock. Epochs two apart share one: they never run side by side. */
export function lockOf(epoch: number): number {
  return modulo(epoch, EPOCH_LOCKS);
}

/** The table that no transaction of this steady epoch uses, and that the next overlap will write. */
export function spareTable(epoch: number): number {
  return tableOf(Math.floor(epoch / 2) + 1);
}

export interface GenerationState {
  readonly epoch: number;
  /** Whether the spare table may still hold an expired generation. */
  readonly spareDirty: boolean;
  /** Since the written generation became the only one, by the database's clock. */
  readonly ageMs: number;
  readonly retentionMs: number;
}

/**
 * What retention has to do next. `clear`: empty the spare table, when no transaction of the epoch before reads it any
 * more. `begin-overlap`: go to the odd epoch. `advance`: go to the even one, when no transaction of the epoch before runs.
 */
export type Step = 'none' | 'clear' | 'begin-overlap' | 'advance';

export function nextStep({ epoch, spareDirty, ageMs, retentionMs }: GenerationState): Step {
  if (epoch % 2 === 1) return 'advance';
  if (spareDirty) return 'clear';
  return ageMs >= retentionMs / GENERATIONS_PER_RETENTION ? 'begin-overlap' : 'none';
}

function tableOf(generation: number): number {
  return modulo(generation, GENERATION_TABLES);
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
