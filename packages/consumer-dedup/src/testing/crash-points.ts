import { createDeduplicator, type Deduplicator } from '../deduplicator.ts';
import type { Outcome } from '../outcome.ts';
import type { ClaimRequest, DedupStore, DedupTransaction, LeaseStore, TransactionStore } from '../store.ts';
import type { AnyContext } from './environment.ts';
import { messageOf } from './messages.ts';

/** What tells stores apart when a process dies. */
export type Durability = 'transaction' | 'lease' | 'memory';

/** Where a consumer process dies. */
export interface CrashPoint {
  readonly id: 'before-claim' | 'after-claim' | 'during-handler' | 'after-effect' | 'after-mark';
  /** A phrase for the matrix. */
  readonly name: string;
  /** What must hold when another process is given the message again. */
  readonly holds: Readonly<Record<Durability, CrashResult>>;
}

export interface CrashResult {
  /** The effect's count at the end. */
  readonly effects: number;
  /** What the process that takes over sees. */
  readonly outcome: Outcome['status'];
  readonly why: string;
}

const once = (outcome: 'processed' | 'duplicate', why: string): CrashResult => ({ effects: 1, outcome, why });
const twice = (why: string): CrashResult => ({ effects: 2, outcome: 'processed', why });

/** The crash-point matrix (rule D9): enforced by a test on every store, and printed into the README from here. */
export const crashPoints: readonly CrashPoint[] = [
  {
    id: 'before-claim',
    name: 'before the claim',
    holds: {
      transaction: once('processed', 'nothing had happened'),
      lease: once('processed', 'nothing had happened'),
      memory: once('processed', 'nothing had happened'),
    },
  },
  {
    id: 'after-claim',
    name: 'after the claim, before the handler',
    holds: {
      transaction: once('processed', 'the claim was rolled back'),
      lease: once('processed', 'when the lease has ended'),
      memory: once('processed', 'the claim died with the process'),
    },
  },
  {
    id: 'during-handler',
    name: 'during the handler, before its effect',
    holds: {
      transaction: once('processed', 'the claim was rolled back'),
      lease: once('processed', 'when the lease has ended'),
      memory: once('processed', 'the claim died with the process'),
    },
  },
  {
    id: 'after-effect',
    name: 'after the effect, before the mark',
    holds: {
      transaction: once('processed', 'the effect was rolled back with the claim'),
      lease: twice('the window that remains: the effect was done, and nothing says so'),
      memory: twice('the effect was done, and nothing says so'),
    },
  },
  {
    id: 'after-mark',
    name: 'after the mark, before the offset commit',
    holds: {
      transaction: once('duplicate', 'effect and key were committed together'),
      lease: once('duplicate', 'the key is marked as done'),
      memory: twice('the mark died with the process'),
    },
  },
];

/** Short, so that the takeover need not wait for long. */
const CRASH_LEASE_MS = 400;

export interface CrashRun {
  readonly store: DedupStore;
  readonly namespace: string;
  readonly point: CrashPoint['id'];
  /** One message goes through `process`, more through `processBatch`. One by default. */
  readonly messages?: number;
  effect(context: AnyContext): Promise<void>;
  /** Called at the point; the process is killed there, so it must never settle. */
  atPoint(): Promise<never>;
}

/** In the process that dies: processes the messages up to the crash point. */
export async function runUntilCrash({
  store,
  namespace,
  point,
  messages = 1,
  effect,
  atPoint,
}: CrashRun): Promise<void> {
  const stops = new Map<CrashPoint['id'], () => Promise<void>>([[point, atPoint]]);
  const at = async (id: CrashPoint['id']): Promise<void> => stops.get(id)?.();
  const dedup = createDeduplicator({ store: watchedStore(store, at), namespace, ...leaseOptions(store) });
  await processAll(dedup, messages, async (applyEach) => {
    await at('during-handler');
    await applyEach(effect);
    await at('after-effect');
  });
  await at('after-mark');
}

/** In the process that takes over: processes the same messages. */
export function takeOverAfterCrash({
  store,
  namespace,
  messages = 1,
  effect,
}: Pick<CrashRun, 'store' | 'namespace' | 'messages' | 'effect'>): Promise<Outcome[]> {
  const dedup = createDeduplicator<DedupStore>({ store, namespace, ...leaseOptions(store) });
  return processAll(dedup, messages, (applyEach) => applyEach(effect));
}

/** Does an effect once for each message that the handler was given: leases that end one after the other come in several calls. */
type ApplyEach = (effect: CrashRun['effect']) => Promise<void>;

async function processAll(
  dedup: Deduplicator<DedupStore>,
  count: number,
  handler: (applyEach: ApplyEach) => Promise<void>,
): Promise<Outcome[]> {
  const handle = (given: number, context: AnyContext) =>
    handler(async (effect) => {
      for (let applied = 0; applied < given; applied++) await effect(context);
    });
  if (count === 1) return [await dedup.process(messageOf('crash'), (_, context) => handle(1, context))];
  const messages = Array.from({ length: count }, (_, index) => messageOf(`crash-${index}`));
  return dedup.processBatch(messages, (fresh, context) => handle(fresh.length, context));
}

function leaseOptions({ kind }: DedupStore): { leaseMs?: number } {
  return kind === 'lease' ? { leaseMs: CRASH_LEASE_MS } : {};
}

type Watch = (id: CrashPoint['id']) => Promise<void>;

function watchedStore(store: DedupStore, at: Watch): DedupStore {
  return store.kind === 'lease' ? watchedLeases(store, at) : watchedTransactions(store, at);
}

function watchedLeases(store: LeaseStore, at: Watch): LeaseStore {
  return {
    kind: 'lease',
    name: store.name,
    open: () => store.open(),
    claim: (namespace, requests, times) => watchedClaim(at, () => store.claim(namespace, requests, times)),
    renew: (namespace, leases, leaseMs) => store.renew(namespace, leases, leaseMs),
    complete: (namespace, leases, retentionMs) => store.complete(namespace, leases, retentionMs),
    release: (namespace, leases) => store.release(namespace, leases),
  };
}

function watchedTransactions(store: TransactionStore<unknown>, at: Watch): TransactionStore<unknown> {
  return {
    kind: 'transaction',
    name: store.name,
    open: (retentionMs) => store.open(retentionMs),
    offsets: (namespace, topics) => store.offsets(namespace, topics),
    maintain: () => store.maintain(),
    transaction: (settings, work) =>
      store.transaction(settings, (transaction) => {
        const claim = (requests: readonly ClaimRequest[]) => watchedClaim(at, () => transaction.claim(requests));
        return work(
          new Proxy(transaction, {
            get: (target, name: keyof DedupTransaction<unknown>) => {
              if (name === 'claim') return claim;
              const value: unknown = target[name];
              return typeof value === 'function' ? value.bind(target) : value;
            },
          }),
        );
      }),
  };
}

async function watchedClaim<T>(at: Watch, claim: () => Promise<T>): Promise<T> {
  await at('before-claim');
  const answer = await claim();
  await at('after-claim');
  return answer;
}
