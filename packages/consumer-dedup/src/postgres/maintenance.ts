import type { MaintenanceStep } from '../store.ts';
import type { Database, OpenTransaction } from './database.ts';
import { type GenerationState, lockOf, nextStep, type Step, spareTable } from './generations.ts';
import type { TableNames } from './names.ts';
import { isLockTimeout } from './sql-state.ts';
import { explain } from './transaction.ts';

const TIMEOUT_MS = 30_000;
/** How long a step may wait for the transactions of an epoch to end, and so how long it can keep a stale one waiting. */
const LOCK_TIMEOUT_MS = 200;

/** One step of retention, if one is due; `busy` when it has to wait for transactions, or someone else is at it. */
export async function maintain<Client>(database: Database<Client>, names: TableNames): Promise<MaintenanceStep> {
  const begin = (preamble: string) =>
    database.begin({ isolationLevel: 'read committed', preamble, timeoutMs: TIMEOUT_MS, waitMs: TIMEOUT_MS });
  try {
    // Looking takes no lock: most looks find nothing to do.
    const look = await begin(selectState(names, ''));
    const due = nextStep(stateOf(look.preamble[0]!));
    await look.open.rollback();
    if (due === 'none') return 'none';
    const { open, preamble } = await begin(
      `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; ${selectState(names, 'FOR UPDATE SKIP LOCKED')}`,
    );
    try {
      const rows = preamble[1]!;
      if (rows.length === 0) {
        await open.rollback();
        return 'busy';
      }
      const state = stateOf(rows);
      const done = await take(nextStep(state), state, open, names);
      await open.commit(TIMEOUT_MS);
      return done;
    } catch (error) {
      await open.rollback();
      throw error;
    }
  } catch (error) {
    if (isLockTimeout(error)) return 'busy';
    throw explain(error);
  }
}

async function take<Client>(
  step: Step,
  { epoch }: GenerationState,
  open: OpenTransaction<Client>,
  { keys, state, epochs }: TableNames,
): Promise<MaintenanceStep> {
  const run = (sql: string) => open.query(sql, [], TIMEOUT_MS);
  // Held until the commit: no transaction of the epoch before is running, and none that comes late gets past its lock
  // before it can see the new epoch.
  const waitForEpochBefore = () => run(`LOCK TABLE ${epochs[lockOf(epoch - 1)]} IN ACCESS EXCLUSIVE MODE`);
  switch (step) {
    case 'clear':
      await waitForEpochBefore();
      await run(`TRUNCATE ${keys[spareTable(epoch)]}`);
      await run(`UPDATE ${state} SET spare_dirty = false`);
      return 'cleared';
    case 'begin-overlap':
      await run(`UPDATE ${state} SET epoch = epoch + 1`);
      return 'overlap-begun';
    case 'advance':
      await waitForEpochBefore();
      await run(`UPDATE ${state} SET epoch = epoch + 1, spare_dirty = true, rotated_at = clock_timestamp()`);
      return 'advanced';
    case 'none':
      return 'none';
  }
}

function selectState({ state }: TableNames, locking: string): string {
  return `SELECT epoch::float8 AS epoch, spare_dirty, retention_ms::float8 AS retention_ms, (extract(epoch FROM clock_timestamp() - rotated_at) * 1000)::float8 AS age_ms FROM ${state} ${locking}`;
}

function stateOf([row]: readonly Readonly<Record<string, unknown>>[]): GenerationState {
  if (row === undefined) return { epoch: 0, spareDirty: false, ageMs: 0, retentionMs: Number.POSITIVE_INFINITY };
  return {
    epoch: row.epoch as number,
    spareDirty: row.spare_dirty as boolean,
    ageMs: row.age_ms as number,
    retentionMs: row.retention_ms as number,
  };
}
