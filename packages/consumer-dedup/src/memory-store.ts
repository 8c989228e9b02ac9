import { DedupConfigError, DedupError } from './errors.ts';
import type { MessageSource } from './message.ts';
import type { ClaimRequest, DoneAnswer, HeldAnswer, Lease, LeasedAnswer, LeaseStore, StoredRecord } from './store.ts';

export interface MemoryStoreOptions {
  /** Milliseconds since 1970-01-01 UTC; the platform's monotonic clock by default. */
  readonly clock?: () => number;
  /** Claims are refused beyond this many keys: forgetting one early would let its duplicate pass. A million by default. */
  readonly maxKeys?: number;
}

interface Claimed {
  readonly fence: number;
  readonly attempt: number;
  /** `done` ends with `expiresAtMs`; `held` when `leaseEndsAtMs` has passed; `free` was released. */
  state: 'held' | 'free' | 'done';
  leaseEndsAtMs: number;
  expiresAtMs: number;
  record: StoredRecord;
}

/** Looked at for expiry by each claim; more than one, so that the map shrinks. */
const EXPIRED_PER_CLAIM = 4;

/**
 * Keeps keys in this process, for tests and examples. The semantics are those of a store with leases; what it knows is
 * gone when the process ends, so it recognises no repeat of what an earlier process did.
 */
export function memoryStore(options: MemoryStoreOptions = {}): LeaseStore {
  return new MemoryStore(options);
}

class MemoryStore implements LeaseStore {
  readonly kind = 'lease';
  readonly name = 'memory';
  readonly #clock: () => number;
  readonly #maxKeys: number;
  readonly #keys = new Map<string, Claimed>();
  #lastFence = 0;

  constructor({ clock = () => performance.timeOrigin + performance.now(), maxKeys = 1_000_000 }: MemoryStoreOptions) {
    if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
      throw new DedupConfigError(`maxKeys: is ${maxKeys}; it must be a whole number above 0`, ['maxKeys']);
    }
    this.#clock = clock;
    this.#maxKeys = maxKeys;
  }

  async open(): Promise<void> {}

  async claim(
    namespace: string,
    requests: readonly ClaimRequest[],
    { leaseMs, retentionMs }: { readonly leaseMs: number; readonly retentionMs: number },
  ): Promise<(DoneAnswer | LeasedAnswer | HeldAnswer)[]> {
    const nowMs = this.#clock();
    this.#forgetExpired(nowMs, EXPIRED_PER_CLAIM * requests.length);
    return requests.map(({ key, fingerprint, source, note }) => {
      const name = nameOf(namespace, key);
      const known = this.#keys.get(name);
      const current = known !== undefined && known.expiresAtMs > nowMs ? known : undefined;
      if (current?.state === 'done') return { state: 'done', record: current.record };
      if (current?.state === 'held' && current.leaseEndsAtMs > nowMs) {
        return { state: 'held', remainingMs: current.leaseEndsAtMs - nowMs };
      }
      if (known === undefined && this.#keys.size >= this.#maxKeys) {
        throw new DedupError(
          `the memory store holds ${this.#maxKeys} keys, its maxKeys; raise it or shorten retentionMs`,
          {
            code: 'STORE_FULL',
          },
        );
      }
      const fence = ++this.#lastFence;
      const attempt = (current?.attempt ?? 0) + 1;
      const record = { processedAtMs: nowMs, source: copyOf(source), fingerprint, note, result: null };
      this.#keys.delete(name);
      this.#keys.set(name, {
        fence,
        attempt,
        state: 'held',
        leaseEndsAtMs: nowMs + leaseMs,
        expiresAtMs: nowMs + retentionMs,
        record,
      });
      return { state: 'leased', fence, attempt, claimedAtMs: nowMs, takeover: current?.state === 'held' };
    });
  }

  async renew(namespace: string, leases: readonly Lease[], leaseMs: number): Promise<boolean[]> {
    const endsAtMs = this.#clock() + leaseMs;
    return leases.map((lease) => {
      const claimed = this.#claimOf(namespace, lease);
      if (claimed?.state !== 'held') return false;
      claimed.leaseEndsAtMs = endsAtMs;
      claimed.expiresAtMs = Math.max(claimed.expiresAtMs, endsAtMs);
      return true;
    });
  }

  async complete(
    namespace: string,
    leases: readonly (Lease & { readonly result: string | null })[],
    retentionMs: number,
  ): Promise<boolean[]> {
    const nowMs = this.#clock();
    return leases.map((lease) => {
      const claimed = this.#claimOf(namespace, lease);
      if (claimed === undefined || claimed.state === 'free') return false;
      if (claimed.state === 'held') {
        claimed.state = 'done';
        claimed.expiresAtMs = nowMs + retentionMs;
        claimed.record = { ...claimed.record, result: lease.result };
        const name = nameOf(namespace, lease.key);
        this.#keys.delete(name);
        this.#keys.set(name, claimed);
      }
      return true;
    });
  }

  async release(namespace: string, leases: readonly Lease[]): Promise<boolean[]> {
    return leases.map((lease) => {
      const claimed = this.#claimOf(namespace, lease);
      if (claimed?.state !== 'held') return false;
      claimed.state = 'free';
      return true;
    });
  }

  #claimOf(namespace: string, { key, fence }: Lease): Claimed | undefined {
    const claimed = this.#keys.get(nameOf(namespace, key));
    return claimed?.fence === fence ? claimed : undefined;
  }

  /** Claims and completions move a key to the end of the map, so that the oldest come first. */
  #forgetExpired(nowMs: number, most: number): void {
    let looked = 0;
    for (const [name, { expiresAtMs }] of this.#keys) {
      if (looked++ >= most) return;
      if (expiresAtMs <= nowMs) this.#keys.delete(name);
    }
  }
}

/** A namespace has no NUL, so no two pairs share a name. */
function nameOf(namespace: string, key: Buffer): string {
  return `${namespace}\0${key.toString('latin1')}`;
}

function copyOf({ topic, partition, offset }: MessageSource): MessageSource {
  return { topic, partition, offset };
}
