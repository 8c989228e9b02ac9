import { type Found, failed, inMessageOrder, type KeyGroup, repeatOf } from './batch-plan.ts';
import { DedupError, InProgressError, StoreUnavailableError } from './errors.ts';
import type { TransactionContext } from './handler.ts';
import { callHook, observed } from './hooks.ts';
import type { Settings } from './options.ts';
import { inProgress, type Outcome } from './outcome.ts';
import { encodeResult, type Job, type Runner } from './runner.ts';
import type { DedupTransaction, TransactionStore } from './store.ts';

/** Carries the handler's error out of the transaction, so that it rolls back, with what else had been found out. */
class HandlerFailed<M, R> extends Error {
  readonly found: Found<M, R>;
  constructor(cause: unknown, found: Found<M, R>) {
    super('the handler failed', { cause });
    this.found = found;
  }
}

/** Claim, handler and commit in one transaction (rule D3). */
export class TransactionRunner<Client> implements Runner<TransactionContext<Client>> {
  readonly #store: TransactionStore<Client>;
  readonly #settings: Settings;

  constructor(store: TransactionStore<Client>, settings: Settings) {
    this.#store = store;
    this.#settings = settings;
  }

  async run<M, R>(job: Job<M, R, TransactionContext<Client>>): Promise<Found<M, R>> {
    try {
      return await observed(this.#settings, this.#store.name, 'transaction', job.groups.length, async () => {
        try {
          return await this.#transaction(job);
        } catch (error) {
          // The store did its part: this is no failure of the store.
          if (!(error instanceof HandlerFailed)) throw error;
          return error.found as Found<M, R>;
        }
      });
    } catch (error) {
      return this.#notCommitted(job, error);
    }
  }

  #transaction<M, R>(job: Job<M, R, TransactionContext<Client>>): Promise<Found<M, R>> {
    const { namespace, waitMs, storeTimeoutMs, hooks } = this.#settings;
    const onRetry = (attempt: number, error: unknown): void =>
      callHook(hooks, hooks.onTransactionRetry, () => ({ namespace, attempt, error }));
    return this.#store.transaction({ namespace, waitMs, storeTimeoutMs, onRetry }, async (transaction) => {
      const found: Found<M, R> = new Map();
      const fresh: KeyGroup<M>[] = [];
      const answers = await transaction.claim(job.groups);
      for (const [index, group] of job.groups.entries()) {
        const answer = answers[index]!;
        if (answer === 'fresh') fresh.push(group);
        else found.set(group, { outcome: repeatOf(group, answer), record: answer });
      }
      if (fresh.length > 0)
        await this.#handle(
          job,
          transaction,
          inMessageOrder(fresh, (group) => group),
          found,
        );
      const offsets = job.offsetsAfter(found);
      if (offsets.length > 0) await transaction.storeOffsets(offsets);
      return found;
    });
  }

  async #handle<M, R>(
    job: Job<M, R, TransactionContext<Client>>,
    transaction: DedupTransaction<Client>,
    fresh: readonly KeyGroup<M>[],
    found: Found<M, R>,
  ): Promise<void> {
    const alone = job.isolate === 'message';
    const failure = await this.#invoke(job, transaction, fresh, found, alone);
    if (failure === null) return;
    if (!alone) {
      for (const group of fresh) found.set(group, failed(group, 'handler', failure.cause));
      throw new HandlerFailed(failure.cause, found);
    }
    for (const group of fresh) {
      const again = fresh.length === 1 ? failure : await this.#invoke(job, transaction, [group], found, true);
      if (again === null) continue;
      // The claim was made before the savepoint: without this, the failed message's retry would be a duplicate (rule D7).
      await transaction.forget([group.key]);
      found.set(group, failed(group, 'handler', again.cause));
    }
  }

  /** Runs the handler. Returns what it threw, unless the database asks for a fresh transaction. */
  async #invoke<M, R>(
    job: Job<M, R, TransactionContext<Client>>,
    transaction: DedupTransaction<Client>,
    groups: readonly KeyGroup<M>[],
    found: Found<M, R>,
    savepoint: boolean,
  ): Promise<{ cause: unknown } | null> {
    const { client, attempt } = transaction;
    const context: TransactionContext<Client> = { client, attempt };
    const handle = async (): Promise<{ results: readonly R[]; kept: (string | null)[] }> => {
      const results = await job.invoke(groups, context);
      return { results, kept: results.map((result) => (this.#settings.keepResult ? encodeResult(result) : null)) };
    };
    let handled: Awaited<ReturnType<typeof handle>>;
    try {
      handled = await (savepoint ? transaction.savepoint(handle) : handle());
    } catch (cause) {
      if (transaction.wantsRetry(cause) || cause instanceof StoreUnavailableError) throw cause;
      return { cause };
    }
    const { results, kept } = handled;
    const toKeep = groups.flatMap(({ key }, index) => (kept[index] === null ? [] : [{ key, result: kept[index]! }]));
    if (toKeep.length > 0) await transaction.keepResults(toKeep);
    for (const [index, group] of groups.entries()) {
      const { key, source, fingerprint, note } = group;
      const outcome: Outcome<R> = { status: 'processed', key, result: results[index]!, attempt };
      const record = { processedAtMs: transaction.startedAtMs, source, fingerprint, note, result: kept[index]! };
      found.set(group, { outcome, record });
    }
    return null;
  }

  /** No group's effect was committed, or it is not known whether all were. */
  async #notCommitted<M, R>(job: Job<M, R, TransactionContext<Client>>, error: unknown): Promise<Found<M, R>> {
    const waitedInVain = error instanceof InProgressError;
    if (waitedInVain && job.isolate === 'message' && job.groups.length > 1) {
      // Which of the keys is held is not known: those that aren't need not wait for it.
      const found: Found<M, R> = new Map();
      for (const group of job.groups) {
        const alone = { ...job, groups: [group], offsetsAfter: () => [] };
        for (const [key, outcome] of await this.run(alone)) found.set(key, outcome);
      }
      return found;
    }
    const found: Found<M, R> = new Map();
    for (const group of job.groups) {
      if (waitedInVain) found.set(group, { outcome: inProgress(group.key), record: null });
      else
        found.set(
          group,
          failed(group, error instanceof DedupError && error.code === 'TRANSACTION_ENDED' ? 'handler' : 'store', error),
        );
    }
    return found;
  }
}
