/**
 * Keys live in three tables that take turns ("generations"), so that retention is a TRUNCATE and never a DELETE. A plain
 * time partition would let a key in twice across the boundary (rule D8); here, two transactions can only ever run side by
 * side when there is one table that both insert the key into.
 *
 * An epoch says which tables a transaction uses. Even epochs are steady: generation g is written, g-1 is read.
 * Odd ones are the overlap in which both g and g+1 are written.
 *
 *     epoch 2g      writes g           reads g-1
 *     epoch 2g+1    writes g and g+1   reads g-1
 *     epoch 2g+2    writes g+1         reads g
 *
 * Neighbours share a written table, so that its unique index decides between them. Epochs two apart do not: epoch e+1
 * only begins when every transaction of epoch e-1 has ended, and what those wrote is committed and read from then on.
 * Nobody waits for that except the change itself: new transactions go on in epoch e.
 *
 * A generation is written for all of the retention, so a key is kept for one to two times that. Shorter generations
 * would need less room and be slower: every claim looks into each older table, and that look costs half as much as the
 * insert itself.
 */

export const GENERATION_TABLES = 3;
export const EPOCH_LOCKS = 2;
/** The epochs after which the same tables have the same parts again. */
export const EPOCH_PHASES = 2 * GENERATION_TABLES;

/** Table numbers. */
export interface TablesInUse {
  /** The unique index of each of these decides who is first. */
  readonly written: readonly number[];
  /** Nothing is inserted here any more. */
  readonly read: number;
}

export function tablesInUse(epoch: number): TablesInUse {
  const generation = Math.floor(epoch / 2);
  const overlap = epoch % 2 === 1;
  return {
    written: overlap ? [tableOf(generation), tableOf(generation + 1)] : [tableOf(generation)],
    read: tableOf(generation - 1),
  };
}

/** Every transaction of an epoch holds its lock. Epochs two apart share one: they never run side by side. */
export function lockOf(epoch: number): number {
  return modulo(epoch, EPOCH_LOCKS);
}

/** Which of the {@link EPOCH_PHASES} an epoch is. */
export function phaseOf(epoch: number): number {
  return modulo(epoch, EPOCH_PHASES);
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
  return ageMs >= retentionMs ? 'begin-overlap' : 'none';
}

function tableOf(generation: number): number {
  return modulo(generation, GENERATION_TABLES);
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
