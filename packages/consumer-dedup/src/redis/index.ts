import { isAscii } from 'node:buffer';
import { DedupConfigError } from '../errors.ts';
import type { ClaimRequest, DoneAnswer, HeldAnswer, Lease, LeasedAnswer, LeaseStore } from '../store.ts';
import { type RedisArgument, type RedisClient, runScript } from './client.ts';
import { refuseEviction } from './eviction.ts';
import { withoutCommand } from './refusal.ts';
import { CLAIM, COMPLETE, RELEASE, RENEW, type Script } from './scripts.ts';
import { decodeAnswers, encodeMessage } from './value.ts';

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
    try {
      // Also makes a Cluster find its nodes.
      await this.#client.call('PING');
      if (!this.#allowEviction) await refuseEviction(this.#client.nodes?.('master') ?? [this.#client]);
    } catch (error) {
      throw withoutCommand(error);
    }
  }

  async claim(
    namespace: string,
    requests: readonly ClaimRequest[],
    { leaseMs, retentionMs }: { readonly leaseMs: number; readonly retentionMs: number },
  ): Promise<readonly (DoneAnswer | LeasedAnswer | HeldAnswer)[]> {
    const answers = await this.#run(CLAIM, namespace, requests, [leaseMs, retentionMs], (index, args) =>
      args.push(encodeMessage(requests[index]!)),
    );
    return answers.flatMap(decodeAnswers);
  }

  async renew(namespace: string, leases: readonly Lease[], leaseMs: number): Promise<readonly boolean[]> {
    return truths(
      await this.#run(RENEW, namespace, leases, [leaseMs], (index, args) => args.push(leases[index]!.fence)),
    );
  }

  async complete(
    namespace: string,
    leases: readonly (Lease & { readonly result: string | null })[],
    retentionMs: number,
  ): Promise<readonly boolean[]> {
    const answers = await this.#run(COMPLETE, namespace, leases, [retentionMs], (index, args) => {
      const { fence, result } = leases[index]!;
      return args.push(fence, result === null ? '' : `-${result}`);
    });
    return truths(answers);
  }

  async release(namespace: string, leases: readonly Lease[]): Promise<readonly boolean[]> {
    return truths(await this.#run(RELEASE, namespace, leases, [], (index, args) => args.push(leases[index]!.fence)));
  }

  /** All calls leave at once, and are answered in order: a pipeline, on each node that is asked. */
  async #run(
    script: Script,
    namespace: string,
    items: readonly { readonly key: Buffer }[],
    common: readonly RedisArgument[],
    pushArgs: (index: number, args: RedisArgument[]) => void,
  ): Promise<readonly unknown[][]> {
    // A namespace has no NUL, so no two pairs of namespace and key share a name.
    const head = `${this.#prefix}${namespace}\0`;
    const calls: Promise<unknown[]>[] = [];
    for (let from = 0; from < items.length; from += this.#keysPerCall) {
      const end = Math.min(from + this.#keysPerCall, items.length);
      const args: RedisArgument[] = [end - from];
      for (let index = from; index < end; index++) args.push(nameOf(head, items[index]!.key));
      args.push(...common);
      for (let index = from; index < end; index++) pushArgs(index, args);
      calls.push(runScript(this.#client, script, args));
    }
    // Every call is waited for, so that none goes on behind an error already reported.
    const settled = await Promise.allSettled(calls);
    return settled.map((result) => {
      if (result.status === 'rejected') throw withoutCommand(result.reason);
      return result.value;
    });
  }
}

/** ioredis writes a command that is all text several times as fast as one with bytes in it. */
function nameOf(head: string, key: Buffer): RedisArgument {
  return isAscii(key) ? head + key.toString('latin1') : Buffer.concat([Buffer.from(head), key]);
}

function truths(answers: readonly unknown[][]): boolean[] {
  return answers.flat().map((answer) => answer === 1);
}
