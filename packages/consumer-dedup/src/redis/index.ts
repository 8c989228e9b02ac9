import { DedupConfigError } from '../errors.ts';
import type { ClaimRequest, DoneAnswer, HeldAnswer, Lease, LeasedAnswer, LeaseStore } from '../store.ts';
import { type RedisArgument, type RedisClient, runScript } from './client.ts';
import { refuseEviction } from './eviction.ts';
import { CLAIM, COMPLETE, RELEASE, RENEW, type Script } from './scripts.ts';
import { decodeAnswer, encodeMessage } from './value.ts';

export type { RedisArgument, RedisClient, RedisNode } from './client.ts';

export interface RedisStoreOptions {
  /** ioredis's `Redis` (with or without Sentinel) or `Cluster`, version 5 or later; stays the caller's to close. */
  readonly client: RedisClient;
  /** What all keys begin with, after ioredis's own `keyPrefix`. `sendonce:` by default. */
  readonly prefix?: string;
  /** Accept a server whose `maxmemory-policy` drops keys under memory pressure, whose duplicates then pass. False by default. */
  readonly allowEviction?: boolean;
}

const DEFAULT_PREFIX = 'sendonce:';
/** Keys of one script call: enough to spare round trips, few enough that other clients wait for about a millisecond. */
const KEYS_PER_CALL = 100;

/**
 * Keys in Redis 5 or later, or a server that speaks its protocol and has its scripts. The claim and the effect are
 * separate steps: see the README's matrix for the window that remains.
 */
export function redisStore(options: RedisStoreOptions): LeaseStore {
  return new RedisStore(options);
}

class RedisStore implements LeaseStore {
  readonly kind = 'lease';
  readonly name = 'redis';
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #allowEviction: boolean;
  /** In a Cluster the keys of one script must lie in one slot, and different keys hardly ever do. */
  readonly #keysPerCall: number;

  constructor({ client, prefix = DEFAULT_PREFIX, allowEviction = false, ...unknown }: RedisStoreOptions) {
    const [other] = Object.keys(unknown);
    if (other !== undefined) throw new DedupConfigError(`${other}: is not an option of this store`, [other]);
    if (typeof client?.callBuffer !== 'function') {
      throw new DedupConfigError("client: must be ioredis's Redis or Cluster", ['client']);
    }
    if (typeof prefix !== 'string' || prefix.includes('\0')) {
      throw new DedupConfigError('prefix: must be text without NUL', ['prefix']);
    }
    this.#client = client;
    this.#prefix = prefix;
    this.#allowEviction = allowEviction;
    this.#keysPerCall = client.isCluster ? 1 : KEYS_PER_CALL;
  }

  async open(): Promise<void> {
    // Also makes a Cluster find its nodes.
    await this.#client.call('PING');
    if (!this.#allowEviction) await refuseEviction(this.#client.nodes?.('master') ?? [this.#client]);
  }

  async claim(
    namespace: string,
    requests: readonly ClaimRequest[],
    { leaseMs, retentionMs }: { readonly leaseMs: number; readonly retentionMs: number },
  ): Promise<readonly (DoneAnswer | LeasedAnswer | HeldAnswer)[]> {
    const messages = requests.map(encodeMessage);
    const answers = await this.#run(CLAIM, namespace, requests, [leaseMs, retentionMs], (index) => [messages[index]!]);
    return answers.map((answer) => decodeAnswer(answer as Buffer));
  }

  async renew(namespace: string, leases: readonly Lease[], leaseMs: number): Promise<readonly boolean[]> {
    return truths(await this.#run(RENEW, namespace, leases, [leaseMs], (index) => [leases[index]!.fence]));
  }

  async complete(
    namespace: string,
    leases: readonly (Lease & { readonly result: string | null })[],
    retentionMs: number,
  ): Promise<readonly boolean[]> {
    const answers = await this.#run(COMPLETE, namespace, leases, [retentionMs], (index) => {
      const { fence, result } = leases[index]!;
      return [fence, result === null ? '' : `-${result}`];
    });
    return truths(answers);
  }

  async release(namespace: string, leases: readonly Lease[]): Promise<readonly boolean[]> {
    return truths(await this.#run(RELEASE, namespace, leases, [], (index) => [leases[index]!.fence]));
  }

  /** All calls leave at once, and are answered in order: a pipeline, on each node that is asked. */
  async #run(
    script: Script,
    namespace: string,
    items: readonly { readonly key: Buffer }[],
    common: readonly RedisArgument[],
    argsOf: (index: number) => readonly RedisArgument[],
  ): Promise<unknown[]> {
    // A namespace has no NUL, so no two pairs of namespace and key share a name.
    const head = Buffer.from(`${this.#prefix}${namespace}\0`);
    const calls: Promise<readonly unknown[]>[] = [];
    for (let from = 0; from < items.length; from += this.#keysPerCall) {
      const part = items.slice(from, from + this.#keysPerCall);
      const keys = part.map(({ key }) => Buffer.concat([head, key]));
      calls.push(
        runScript(this.#client, script, keys, [...common, ...part.flatMap((_, index) => argsOf(from + index))]),
      );
    }
    // Every call is waited for, so that none goes on behind an error already reported.
    const settled = await Promise.allSettled(calls);
    return settled.flatMap((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }
}

function truths(answers: readonly unknown[]): boolean[] {
  return answers.map((answer) => answer === 1);
}
