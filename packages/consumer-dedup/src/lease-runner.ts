import { setTimeout as delay } from 'node:timers/promises';
import { type Found, failed, inMessageOrder, type KeyGroup, repeatOf } from './batch-plan.ts';
import { LeaseLostError, ResultError } from './errors.ts';
import type { LeaseBatchContext } from './handler.ts';
import { callHook } from './hooks.ts';
import { LeaseCalls } from './lease-calls.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import type { Settings } from './options.ts';
import { inProgress, type Outcome } from './outcome.ts';
import { encodeResult, type Job, type Runner } from './runner.ts';
import type { Lease, LeasedAnswer, LeaseStore } from './store.ts';

const FIRST_POLL_MS = 10;
const MAX_POLL_MS = 500;

interface Held<M> {
  readonly group: KeyGroup<M>;
  readonly lease: LeasedAnswer;
}

/** Claim under a lease, run the handler while renewing it, mark as done (rule D4). */
export class LeaseRunner implements Runner<LeaseBatchContext> {
  readonly #calls: LeaseCalls;
  readonly #settings: Settings;

  constructor(store: LeaseStore, settings: Settings) {
    this.#calls = new LeaseCalls(store, settings);
    this.#settings = settings;
  }

  async run<M, R>(job: Job<M, R, LeaseBatchContext>): Promise<Found<M, R>> {
    const found: Found<M, R> = new Map();
    const deadlineMs = performance.now() + this.#settings.waitMs;
    let open = job.groups;
    for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(2 * pollMs, MAX_POLL_MS)) {
      // What was claimed is processed and completed before anything is waited for, so that two batches can't wait for each other.
      const waiting = await this.#claimAndHandle(job, open, found);
      const leftMs = deadlineMs - performance.now();
      if (waiting.length === 0 || leftMs <= 0) {
        for (const { group } of waiting) found.set(group, { outcome: inProgress(group.key), record: null });
        return found;
      }
      const shortestLeaseMs = Math.min(...waiting.map(({ remainingMs }) => remainingMs));
      await delay(Math.max(1, Math.min(pollMs, shortestLeaseMs, leftMs)));
      open = waiting.map(({ group }) => group);
    }
  }

  /** Returns the groups that another consumer holds. */
  async #claimAndHandle<M, R>(
    job: Job<M, R, LeaseBatchContext>,
    groups: readonly KeyGroup<M>[],
    found: Found<M, R>,
  ): Promise<{ group: KeyGroup<M>; remainingMs: number }[]> {
    const sentMs = performance.now();
    const answers = await this.#calls.claim(groups).catch((error: unknown) => {
      for (const group of groups) found.set(group, failed(group, 'store', error));
      return null;
    });
    if (answers === null) return [];
    const held: Held<M>[] = [];
    const waiting: { group: KeyGroup<M>; remainingMs: number }[] = [];
    for (const [index, group] of groups.entries()) {
      const answer = answers[index]!;
      if (answer.state === 'leased') held.push({ group, lease: answer });
      else if (answer.state === 'held') waiting.push({ group, remainingMs: answer.remainingMs });
      else found.set(group, { outcome: repeatOf(group, answer.record), record: answer.record });
    }
    this.#reportTakeovers(held);
    if (held.length > 0)
      await this.#handle(
        job,
        inMessageOrder(held, ({ group }) => group),
        sentMs,
        found,
      );
    return waiting;
  }

  async #handle<M, R>(
    job: Job<M, R, LeaseBatchContext>,
    held: readonly Held<M>[],
    claimSentMs: number,
    found: Found<M, R>,
  ): Promise<void> {
    const { namespace, hooks, leaseMs } = this.#settings;
    const leases = held.map(leaseOf);
    const keeper = new LeaseKeeper(this.#calls, leases, leaseMs, claimSentMs, (lost) =>
      callHook(hooks, hooks.onLeaseLost, () => ({ namespace, keys: lost.map(({ key }) => key) })),
    );
    try {
      const error = await this.#invoke(job, held, keeper, found);
      if (error === null) return;
      if (job.isolate === 'batch' || held.length === 1) await this.#giveUp(held, keeper, error.cause, found);
      else await this.#handleEach(job, held, keeper, error.cause, found);
    } finally {
      keeper.stop();
    }
  }

  async #handleEach<M, R>(
    job: Job<M, R, LeaseBatchContext>,
    held: readonly Held<M>[],
    keeper: LeaseKeeper,
    cause: unknown,
    found: Found<M, R>,
  ): Promise<void> {
    for (const [index, one] of held.entries()) {
      if (keeper.signal.aborted) {
        // Nobody renews them any more: another consumer may be processing them by now.
        const error = new LeaseLostError('a lease was lost before this message could be tried alone', { cause });
        await this.#giveUp(held.slice(index), keeper, error, found, 'lease-lost');
        return;
      }
      const alone = await this.#invoke(job, [one], keeper, found);
      if (alone !== null) await this.#giveUp([one], keeper, alone.cause, found);
    }
  }

  /** Runs the handler and completes. Returns what the handler threw; what comes after it is in `found`. */
  async #invoke<M, R>(
    job: Job<M, R, LeaseBatchContext>,
    held: readonly Held<M>[],
    keeper: LeaseKeeper,
    found: Found<M, R>,
  ): Promise<{ cause: unknown } | null> {
    const { signal } = keeper;
    let results: readonly R[];
    let kept: readonly (string | null)[];
    try {
      results = await job.invoke(
        held.map(({ group }) => group),
        { fences: held.map(({ lease }) => lease.fence), attempts: held.map(({ lease }) => lease.attempt), signal },
      );
      kept = results.map((result) => (this.#settings.keepResult ? encodeResult(result) : null));
    } catch (cause) {
      if (!(cause instanceof ResultError)) return { cause };
      // The handler did its work, outside of any transaction: its keys are done, or the next delivery would do it again.
      await this.#complete(
        held,
        keeper,
        [],
        held.map(() => null),
        found,
      );
      for (const { group } of held) {
        if (found.get(group)?.outcome.status === 'processed') found.set(group, failed(group, 'handler', cause));
      }
      return null;
    }
    await this.#complete(held, keeper, results, kept, found);
    return null;
  }

  async #complete<M, R>(
    held: readonly Held<M>[],
    keeper: LeaseKeeper,
    results: readonly R[],
    kept: readonly (string | null)[],
    found: Found<M, R>,
  ): Promise<void> {
    // Field by field: spread costs more than all the rest here.
    const leases = held.map(({ group, lease }, index) => ({
      key: group.key,
      fence: lease.fence,
      handle: lease.handle,
      result: kept[index]!,
    }));
    keeper.handled(leases);
    let answers: readonly boolean[];
    try {
      answers = await this.#calls.complete(leases);
    } catch (error) {
      for (const { group } of held) found.set(group, failed(group, 'store', error));
      return;
    }
    for (const [index, { group, lease }] of held.entries()) {
      if (answers[index] !== true) {
        const error = new LeaseLostError(
          'the handler ran longer than its lease, and another consumer took the key over',
        );
        found.set(group, failed(group, 'lease-lost', error));
        continue;
      }
      const { key, source, fingerprint, note } = group;
      const outcome: Outcome<R> = { status: 'processed', key, result: results[index] as R, attempt: lease.attempt };
      found.set(group, {
        outcome,
        record: { processedAtMs: lease.claimedAtMs, source, fingerprint, note, result: kept[index]! },
      });
    }
  }

  async #giveUp<M, R>(
    held: readonly Held<M>[],
    keeper: LeaseKeeper,
    error: unknown,
    found: Found<M, R>,
    reason: 'handler' | 'lease-lost' = 'handler',
  ): Promise<void> {
    for (const { group } of held) found.set(group, failed(group, reason, error));
    const leases = held.map(leaseOf);
    keeper.handled(leases);
    // When the store can't be told, the lease ends by itself; the handler's error is what the caller must see.
    await this.#calls.release(leases).catch(() => undefined);
  }

  #reportTakeovers<M>(held: readonly Held<M>[]): void {
    const { namespace, hooks } = this.#settings;
    for (const { group, lease } of held) {
      if (!lease.takeover) continue;
      const { fence, attempt } = lease;
      callHook(hooks, hooks.onLeaseTakeover, () => ({ namespace, key: group.key, fence, attempt }));
    }
  }
}

function leaseOf<M>({ group, lease }: Held<M>): Lease {
  return { key: group.key, fence: lease.fence, handle: lease.handle };
}
