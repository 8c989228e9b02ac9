export interface DedupErrorOptions extends ErrorOptions {
  readonly code: string;
  /** Whether doing the same again later may succeed. Processing a message again is always safe as far as its store's guarantee goes. */
  readonly retriable?: boolean;
}

/** Every error of this package. Match on `code`; messages may change. A handler's own error is never wrapped (rule D7). */
export class DedupError extends Error {
  override readonly name: string = 'DedupError';
  readonly code: string;
  readonly retriable: boolean;

  constructor(message: string, { code, retriable = false, ...options }: DedupErrorOptions) {
    super(message, options);
    this.code = code;
    this.retriable = retriable;
  }
}

/** An option, an argument or the store's setup is wrong; the message names it and says what to write instead. */
export class DedupConfigError extends DedupError {
  override readonly name = 'DedupConfigError';
  /** The options or arguments in question. */
  readonly fields: readonly string[];

  constructor(message: string, fields: readonly string[], options: ErrorOptions = {}) {
    super(message, { code: 'CONFIG', ...options });
    this.fields = fields;
  }
}

/** The message has no key, or one that can't be used (rule D1). Code `MISSING_KEY` or `UNUSABLE_KEY`. */
export class KeyError extends DedupError {
  override readonly name = 'KeyError';
  constructor(message: string, code: 'MISSING_KEY' | 'UNUSABLE_KEY', options: ErrorOptions = {}) {
    super(message, { code, ...options });
  }
}

/**
 * The store can't be reached, or did not answer in time; nothing may be committed (rule D6).
 *
 * `commit` says what became of the effect: `not-done`, or `unknown` when the answer to the last step was lost.
 * Process the message again: if it had been committed, it comes back as a duplicate.
 */
export class StoreUnavailableError extends DedupError {
  override readonly name = 'StoreUnavailableError';
  readonly commit: 'not-done' | 'unknown';
  constructor(
    message: string,
    { commit = 'not-done', ...options }: ErrorOptions & { commit?: 'not-done' | 'unknown' } = {},
  ) {
    super(message, { code: 'STORE_UNAVAILABLE', retriable: true, ...options });
    this.commit = commit;
  }
}

/** The store answered with something that shows it is not set up, or not for this version. */
export class StoreSetupError extends DedupError {
  override readonly name = 'StoreSetupError';
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: 'STORE_SETUP', ...options });
  }
}

/** The lease ended before the handler did, and another consumer may have run it too (rule D4). */
export class LeaseLostError extends DedupError {
  override readonly name = 'LeaseLostError';
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: 'LEASE_LOST', retriable: true, ...options });
  }
}

/** The handler did its work, and what it returned can't be used. Code `RESULT`. */
export class ResultError extends DedupError {
  override readonly name = 'ResultError';
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: 'RESULT', ...options });
  }
}

/** Another consumer is processing the same key. */
export class InProgressError extends DedupError {
  override readonly name = 'InProgressError';
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: 'IN_PROGRESS', retriable: true, ...options });
  }
}
