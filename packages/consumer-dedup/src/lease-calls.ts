import { setTimeout as delay } from 'node:timers/promises';
import { DedupError, StoreUnavailableError } from './errors.ts';
import { observed, type StoreOperation } from './hooks.ts';
import type { Settings } from './options.ts';
import type { ClaimRequest, DoneAnswer, HeldAnswer, Lease, LeasedAnswer, LeaseStore } from './store.ts';
import { withTimeout } from './timeout.ts';

const COMPLETE_BACKOFF_MS = 100;
const COMPLETE_BACKOFF_MAX_MS = 1000;

/** A lease store with a deadline on every call, one kind of error, and an event for each. */
export class LeaseCalls {
  readonly #store: LeaseStore;
  readonly #settings: Settings;

  constructor(store: LeaseStore, settings: Settings) {
    this.#store = store;
    this.#settings = settings;
  }

  claim(requests: readonly ClaimRequest[]): Promise<readonly (DoneAnswer | LeasedAnswer | HeldAnswer)[]> {
    const { namespace, leaseMs, retentionMs } = this.#settings;
    return this.#call('claim', requests.length, () => this.#store.claim(namespace, requests, { leaseMs, retentionMs }));
  }

  renew(leases: readonly Lease[]): Promise<readonly boolean[]> {
    const { namespace, leaseMs } = this.#settings;
    return this.#call('renew', leases.length, () => this.#store.renew(namespace, leases, leaseMs));
  }

  release(leases: readonly Lease[]): Promise<readonly boolean[]> {
    return this.#call('release', leases.length, () => this.#store.release(this.#settings.namespace, leases));
  }

  /**
   * Tries until the store has answered or `storeTimeoutMs` is over: the effect is done, and each try closes the window
   * in which it could be repeated. Completing twice is the same as once.
   */
  async complete(leases: readonly (Lease & { readonly result: string | null })[]): Promise<readonly boolean[]> {
    const { namespace, retentionMs, storeTimeoutMs } = this.#settings;
    const deadline = performance.now() + storeTimeoutMs;
    for (let pauseMs = COMPLETE_BACKOFF_MS; ; pauseMs = Math.min(2 * pauseMs, COMPLETE_BACKOFF_MAX_MS)) {
      try {
        return await this.#call('complete', leases.length, () => this.#store.complete(namespace, leases, retentionMs));
      } catch (cause) {
        if (performance.now() + pauseMs >= deadline) {
          throw new StoreUnavailableError(
            `the handler ran, but the ${this.#store.name} store could not be told; the effect may be repeated when the message is delivered again`,
            { commit: 'unknown', cause },
          );
        }
      }
      await delay(pauseMs);
    }
  }

  #call<T>(operation: StoreOperation, keys: number, request: () => Promise<T>): Promise<T> {
    const store = this.#store.name;
    return observed(this.#settings, store, operation, keys, async () => {
      try {
        return await withTimeout(request(), this.#settings.storeTimeoutMs, `${operation} on the ${store} store`);
      } catch (cause) {
        if (cause instanceof DedupError) throw cause;
        throw new StoreUnavailableError(`${operation} on the ${store} store failed; nothing may be committed`, {
          cause,
        });
      }
    });
  }
}
