import type { SoakReport } from './soak.ts';

export interface Check {
  readonly claim: string;
  readonly held: boolean;
  readonly found: string;
}

/** A process that leaks under this load grows by more in two minutes. */
const heapGrowthMaxBytes = 32 * 1024 * 1024;
/** Idle again: connections to three brokers, a full pool to Postgres, Redis, what clients keep alive. */
export const handlesMax = 100;
/** In hand when a process or Redis dies: one record of each partition. */
const windowPerTrouble = 3;

/** What a soak must show. */
export function verdictOf({
  payments,
  resent,
  troubles,
  books,
  acceptedNotApplied,
  complaints,
  measures,
}: SoakReport): Check[] {
  const twice = books.differences.filter(({ kind }) => kind === 'notified-twice');
  const others = books.differences.filter(({ kind }) => kind !== 'notified-twice');
  const windows = troubles.filter(({ name }) => /consumers|Redis|Postgres/.test(name)).length * windowPerTrouble;
  const names = (list: readonly string[]): string => (list.length === 0 ? 'none' : list.slice(0, 10).join(', '));
  const check = (claim: string, held: boolean, found: string): Check => ({ claim, held, found });
  return [
    check(
      'every client was told that its payment is accepted',
      books.accepted === payments && payments > 0,
      `${books.accepted} of ${payments}`,
    ),
    check(
      'every accepted payment is applied, under the id its client was told',
      acceptedNotApplied.length === 0,
      names(acceptedNotApplied),
    ),
    check('exactly once: as many payments applied as accepted', books.applied === books.accepted, `${books.applied}`),
    check(
      'what was stored again was caught by its key',
      resent > 0 && books.duplicatesCaughtByKey >= resent,
      `${books.duplicatesCaughtByKey}, of which ${resent} were sent again on purpose`,
    ),
    check(
      'the log, the ledger and the requests agree',
      others.length === 0,
      names(others.map(({ kind, key, paymentId }) => `${kind} ${key ?? paymentId}`)),
    ),
    check(
      'the ledger’s sum is zero and every balance is right',
      books.ledgerSumMinor === 0 && books.wrongBalances.length === 0,
      `${books.ledgerSumMinor}`,
    ),
    check(
      'nothing was left waiting or refused',
      books.waitingForLedger + books.waitingForNotification + books.refused === 0,
      `${books.waitingForLedger}, ${books.waitingForNotification}, ${books.refused}`,
    ),
    check(
      'notified twice only in the window that Redis leaves: a process or Redis died between the effect and its mark',
      twice.length <= windows,
      `${twice.length}, at most ${windows}`,
    ),
    check('no client got a wrong answer', complaints.length === 0, names(complaints)),
    ...measures.flatMap(({ name, before, after }) => [
      check(
        `${name}: memory did not grow`,
        after.heapBytes - before.heapBytes <= heapGrowthMaxBytes,
        `${mebibytes(before.heapBytes)} MiB before, ${mebibytes(after.heapBytes)} MiB after`,
      ),
      check(
        `${name}: handles did not grow`,
        after.handles <= handlesMax,
        `${before.handles} before, ${after.handles} after`,
      ),
    ]),
  ];
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
