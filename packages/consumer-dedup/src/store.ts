import type { MessageSource } from './message.ts';

/** One key that a message wants to be the first with. */
export interface ClaimRequest {
  /** At most a few hundred bytes: long keys arrive as their hash. */
  readonly key: Buffer;
  readonly fingerprint: Buffer | null;
  readonly source: MessageSource;
  /** Kept as it is with the claim, where there is one: printable ASCII, at most 256 characters. */
  readonly note: string | null;
}

/** What a store keeps of a processed key. */
export interface StoredRecord {
  readonly processedAtMs: number;
  readonly source: MessageSource;
  readonly fingerprint: Buffer | null;
  /** Of the claim that was completed. */
  readonly note: string | null;
  /** JSON text, or `null` when no result was kept. */
  readonly result: string | null;
}

export interface DoneAnswer {
  readonly state: 'done';
  readonly record: StoredRecord;
}

/** A key that its holder may now process, until the lease ends. */
export interface LeasedAnswer {
  readonly state: 'leased';
  /** Grows with every claim of the key, whoever makes it (rule D4). A safe integer. */
  readonly fence: number;
  /** How many claims of the key the store knows of, this one included. */
  readonly attempt: number;
  /** The store's time of the claim, in milliseconds since 1970-01-01 UTC. */
  readonly claimedAtMs: number;
  /** Whether another claim's lease had ended without completion or release. */
  readonly takeover: boolean;
  /** The store's own: the {@link Lease} shows it again. */
  readonly handle?: unknown;
}

export interface HeldAnswer {
  readonly state: 'held';
  /** Until the holder's lease ends, if it is not renewed. */
  readonly remainingMs: number;
}

/** Names one claim: what completes, renews or releases it must show its fence. */
export interface Lease {
  readonly key: Buffer;
  readonly fence: number;
  /** That of the claim's answer. */
  readonly handle?: unknown;
}

/**
 * A store where the claim and the effect are separate steps (rule D4). All times are the store's own; each call answers
 * one entry per request, in order, and rejects when the store can't be reached.
 *
 * A store that wants to be used by {@link createDeduplicator} passes the conformance suite of
 * `@sendonce/consumer-dedup/testing`.
 */
export interface LeaseStore {
  readonly kind: 'lease';
  /** For events and messages: `redis`, `memory`. */
  readonly name: string;
  /** Called before the first use, and again after it rejected. Rejects when the store can't keep its promise. */
  open(): Promise<void>;
  /**
   * Claims each key that is neither done nor held under a lease that is still running. A held key stays held for
   * `leaseMs`, whatever happens to its holder, and nothing of a claim outlives `leaseMs` and `retentionMs` together.
   */
  claim(
    namespace: string,
    requests: readonly ClaimRequest[],
    times: { readonly leaseMs: number; readonly retentionMs: number },
  ): Promise<readonly (DoneAnswer | LeasedAnswer | HeldAnswer)[]>;
  /** Starts the lease anew. False for a claim that another one followed. */
  renew(namespace: string, leases: readonly Lease[], leaseMs: number): Promise<readonly boolean[]>;
  /**
   * Marks as done for `retentionMs`, and at most a lease longer, in one atomic step with the check of the fence (R3). True also when this same claim
   * had been completed before, and when its lease had ended but nobody had taken over.
   */
  complete(
    namespace: string,
    leases: readonly (Lease & { readonly result: string | null })[],
    retentionMs: number,
  ): Promise<readonly boolean[]>;
  /** Makes the key claimable at once, in one atomic step with the check of the fence. */
  release(namespace: string, leases: readonly Lease[]): Promise<readonly boolean[]>;
}

/** Where to go on reading a partition. */
export interface StoredOffset {
  readonly topic: string;
  readonly partition: number;
  readonly nextOffset: bigint;
}

export interface TransactionSettings {
  readonly namespace: string;
  /** How long a claim may wait for a concurrent one of the same key. */
  readonly waitMs: number;
  /** How long each of the store's own requests may take, waiting for a concurrent claim not counted. */
  readonly storeTimeoutMs: number;
  readonly onRetry: (attempt: number, error: unknown) => void;
}

/** An open transaction of a {@link TransactionStore}. */
export interface DedupTransaction<Client> {
  /** What the handler uses for its effect, so that it commits with the claim. */
  readonly client: Client;
  /** The store's time of the transaction, in milliseconds since 1970-01-01 UTC: what its keys are recorded with. */
  readonly startedAtMs: number;
  /** 1 for the first try; grows when the database made us begin anew. */
  readonly attempt: number;
  /**
   * Claims keys in the order given; the caller sorts them, so that all transactions take them in one order (rule D5), and
   * gives each key once. `fresh` keys are this transaction's until it ends. Waits for a concurrent transaction that
   * claimed one of them; after `waitMs` rejects with {@link InProgressError}, and the transaction is over.
   */
  claim(requests: readonly ClaimRequest[]): Promise<readonly ('fresh' | StoredRecord)[]>;
  /** Gives up claims of this transaction. */
  forget(keys: readonly Buffer[]): Promise<void>;
  keepResults(results: readonly { readonly key: Buffer; readonly result: string }[]): Promise<void>;
  /** Never moves an offset back. */
  storeOffsets(offsets: readonly StoredOffset[]): Promise<void>;
  /** Runs `work` so that what it did is undone when it throws, and nothing else is. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
  /** Whether the database asks for a fresh transaction: serialization failure, deadlock. */
  wantsRetry(error: unknown): boolean;
}

/** What one round of retention did. */
export type MaintenanceStep = 'none' | 'cleared' | 'overlap-begun' | 'advanced' | 'busy';

/** A store where the claim and the effect commit together (rule D3). */
export interface TransactionStore<Client> {
  readonly kind: 'transaction';
  /** For events and messages: `postgres`, `pglite`. */
  readonly name: string;
  /** Called before the first use, and again after it rejected. Makes sure that keys are kept for at least `retentionMs`. */
  open(retentionMs: number): Promise<void>;
  /** Runs `work` in a transaction and commits; rolls back when it throws. Runs it again, in a fresh one, when the database asks for that. */
  transaction<T>(
    settings: TransactionSettings,
    work: (transaction: DedupTransaction<Client>) => Promise<T>,
  ): Promise<T>;
  offsets(namespace: string, topics: readonly string[]): Promise<readonly StoredOffset[]>;
  /** One step of retention, if one is due. Safe to call from every consumer at any time. */
  maintain(): Promise<MaintenanceStep>;
}

/** Any store; what the handler gets depends on which. */
export type DedupStore<Client = unknown> = LeaseStore | TransactionStore<Client>;
