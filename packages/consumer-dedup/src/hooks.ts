import type { ConsumedMessage, MessageSource } from './message.ts';
import type { FailureReason, FirstRun, Outcome } from './outcome.ts';

/** Once for each message that `process` or `processBatch` was given, when its outcome is known. */
export interface OutcomeEvent {
  readonly namespace: string;
  readonly store: string;
  readonly source: MessageSource;
  readonly status: Outcome['status'];
  readonly key: Buffer | null;
  /** For `failed` only. */
  readonly reason: FailureReason | null;
  readonly error: unknown;
  /** For `duplicate` and `conflict`: the run that came first. */
  readonly first: FirstRun | null;
  /** From the call to the outcome; messages of one batch share it. */
  readonly durationMs: number;
}

/** What a hook gives back for a message that it wants to go on with. */
export interface MessageWatch {
  /**
   * Kept with the claim if this message's is the one that processes its key, and shown with each duplicate as `first.note`: a trace
   * context, such as `traceparent`. Printable ASCII, at most 256 characters; anything else is left out. Read once, before the claim.
   */
  readonly note?: string;
  /**
   * Starts the work of a call that has this one message, such as in an async context of its own: `run: (work) => storage.run(span, work)`.
   * Called once; `work` does not throw. Not called when a batch has more messages than one.
   */
  run?(work: () => void): void;
  /** Just before the call answers, and before `onOutcome`. */
  onOutcome?(event: OutcomeEvent): void;
}

/** What a store is asked to do. `transaction` is claim, handler and commit together. */
export type StoreOperation = 'claim' | 'renew' | 'complete' | 'release' | 'transaction' | 'maintain';

/** Once for each request to the store, when it has answered or failed. */
export interface StoreOperationEvent {
  readonly namespace: string;
  readonly store: string;
  readonly operation: StoreOperation;
  readonly keys: number;
  readonly durationMs: number;
  /** `null` when it succeeded. */
  readonly error: unknown;
}

/** A claim took over a key whose lease had ended: its holder died, was cut off or is late. */
export interface LeaseTakeoverEvent {
  readonly namespace: string;
  readonly key: Buffer;
  readonly fence: number;
  readonly attempt: number;
}

/** A lease ended while its handler was running; the handler's `signal` has been aborted. */
export interface LeaseLostEvent {
  readonly namespace: string;
  readonly keys: readonly Buffer[];
}

/** The database ended a transaction for a reason that a new one may not meet; the handler runs again in a fresh one. */
export interface TransactionRetryEvent {
  readonly namespace: string;
  readonly attempt: number;
  readonly error: unknown;
}

/**
 * Called synchronously, in the order things happen. What a hook throws is dropped: a failing hook never fails
 * processing.
 */
export interface DedupHooks {
  /** A message was given to `process` or `processBatch`; once for each, in the caller's async context, before anything is done with it. */
  onMessage?(message: ConsumedMessage, source: MessageSource): MessageWatch | undefined;
  onOutcome?(event: OutcomeEvent): void;
  onStoreOperation?(event: StoreOperationEvent): void;
  onLeaseTakeover?(event: LeaseTakeoverEvent): void;
  onLeaseLost?(event: LeaseLostEvent): void;
  onTransactionRetry?(event: TransactionRetryEvent): void;
}

export const HOOK_NAMES = [
  'onMessage',
  'onOutcome',
  'onStoreOperation',
  'onLeaseTakeover',
  'onLeaseLost',
  'onTransactionRetry',
] as const satisfies readonly (keyof DedupHooks)[];

/** Calls one hook, if there is one. The event is built only when it is. */
export function callHook<E>(
  hooks: DedupHooks | MessageWatch,
  hook: ((event: E) => void) | undefined,
  event: () => E,
): void {
  if (hook === undefined) return;
  try {
    const returned: unknown = hook.call(hooks, event());
    // An async hook is not waited for; its rejection must not become an unhandled one.
    if (returned instanceof Promise) returned.catch(() => undefined);
  } catch {
    // A failing hook never fails processing.
  }
}

/** Awaits one request to a store and reports it. */
export async function observed<T>(
  { namespace, hooks }: { readonly namespace: string; readonly hooks: DedupHooks },
  store: string,
  operation: StoreOperation,
  keys: number,
  request: () => Promise<T>,
): Promise<T> {
  const startMs = performance.now();
  const report = (error: unknown): void =>
    callHook(hooks, hooks.onStoreOperation, () => ({
      namespace,
      store,
      operation,
      keys,
      durationMs: performance.now() - startMs,
      error,
    }));
  try {
    const answer = await request();
    report(null);
    return answer;
  } catch (error) {
    report(error);
    throw error;
  }
}
