/** PostgreSQL's error codes that something here depends on. */
const RETRY_STATES = new Set(['40001', '40P01']);
const LOCK_NOT_AVAILABLE = '55P03';
/** Undefined table, function, schema or column, insufficient privilege: nothing that waiting would change. */
const SETUP_STATES = new Set(['42P01', '42883', '3F000', '42703', '42501']);
/** Connection exceptions, and the server shutting down: what was asked last may have been done. */
const CONNECTION_STATES = /^(08|57P)/;
const MAX_CAUSES = 10;

/** The SQLSTATE of an error that the database itself sent. */
export function sqlState(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  const { code } = error;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** Whether the database asks for a fresh transaction, in the error itself or, where a library wraps it, in a cause. */
export function wantsRetry(error: unknown): boolean {
  let at = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof at === 'object' && at !== null; depth++) {
    const state = sqlState(at);
    if (state !== null && RETRY_STATES.has(state)) return true;
    at = 'cause' in at ? at.cause : null;
  }
  return false;
}

export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === LOCK_NOT_AVAILABLE;
}

export function isSetupProblem(error: unknown): boolean {
  const state = sqlState(error);
  return state !== null && SETUP_STATES.has(state);
}

/** Whether the database refused, so that nothing of the transaction is there. Otherwise nobody knows. */
export function isRefusal(error: unknown): boolean {
  const state = sqlState(error);
  return state !== null && !CONNECTION_STATES.test(state);
}
