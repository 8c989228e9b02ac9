import { setImmediate } from 'node:timers/promises';
import { PGlite } from '@electric-sql/pglite';
import { pgliteStore } from '@sendonce/consumer-dedup/postgres';
import type { Database } from './database.ts';

/** Postgres inside this process, in memory: nothing to install, and gone with the process. */
export async function openPGlite(): Promise<Database> {
  const db = await PGlite.create();
  const inTurn = takingTurns();
  return {
    keys: pgliteStore({ db }),
    query: (sql, parameters) => inTurn(() => db.query(sql, parameters)),
    transaction: (work) => inTurn(() => db.transaction(work)),
    exec: async (sql) => void (await inTurn(() => db.exec(sql))),
    close: () => db.close(),
  };
}

/** A timer waits at most about so long for the queries before it. */
const turnMs = 30;

/**
 * PGlite works in this process's only thread, one query after the other, and queries that wait for it follow without a turn of the
 * event loop between them: a hundred requests at once would keep every timer and reply of the producer waiting for seconds.
 */
function takingTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let turnEndsMs = 0;
  const untilItsTurn = async (): Promise<void> => {
    if (performance.now() < turnEndsMs) return;
    await setImmediate();
    turnEndsMs = performance.now() + turnMs;
  };
  return (work) => {
    const result = last.then(untilItsTurn).then(work);
    last = result.catch(() => undefined);
    return result;
  };
}
