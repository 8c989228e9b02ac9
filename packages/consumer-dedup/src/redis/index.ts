import { isAscii } from 'node:buffer';
import { DedupConfigError } from '../errors.ts';
import type { ClaimRequest, DoneAnswer, HeldAnswer, Lease, LeasedAnswer, LeaseStore } from '../store.ts';
import { type RedisArgument, type RedisClient, runScript } from './client.ts';
import { refuseEviction } from './eviction.ts';
import { CLAIM, CLAIM_LET_GO, COMPLETE, RELEASE, RENEW } from './key-scripts.ts';
import { withoutCommand } from './refusal.ts';
import { KEYS_PER_CALL, type Script } from './script.ts';
import { type LetGo, newLeaseId, SharedKey, type SharedLease, SharedLeases } from './shared-leases.ts';
import { decodeAnswer, decodeClaim, encodeMessage, encodeResult, type SharedAnswer } from './value.ts';

export type { RedisArgument, RedisClient, RedisNode } from './client.ts';

export interface RedisStoreOptions {
  /** ioredis's `Redis` (with or without Sentinel) or `Cluster`, version 5 or later, without `enableAutoPipelining`; stays the caller's to close. */
  readonly client: RedisClient;
  /** What all keys begin with, after ioredis's own `keyPrefix`. `sendonce:` by default. */
  readonly prefix?: string;
  /** Accept a server whose `maxmemory-policy` drops keys under memory pressure, whose duplicates then pass. False by default. */
  readonly allowEviction?: boolean;
}

type Answer = DoneAnswer | LeasedAnswer | HeldAnswer;
type Times = { readonly leaseMs: number; readonly retentionMs: number };
type Completed = Lease & { readonly result: string | null };

const DEFAULT_PREFIX = 'sendonce:';

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
  readonly #shared: SharedLeases;

  constructor({ client, prefix = DEFAULT_PREFIX, allowEviction = false, ...unknown }: RedisStoreOptions) {
    const [other] = Object.keys(unknown);
    if (other !== undefined) throw new DedupConfigError(`${other}: is not an option of this store`, [other]);
    if (typeof client?.callBuffer !== 'function') {
      throw new DedupConfigError("client: must be ioredis's Redis or Cluster", ['client']);
    }
    if (client.options?.enableAutoPipelining === true) {
      // ioredis then leaves the name of a command out that is sent by `call`.
      throw new DedupConfigError(
        'client: has enableAutoPipelining, with which ioredis garbles commands; give the store a client without it, it sends what belongs together at once',
        ['client'],
      );
    }
    if (typeof prefix !== 'string' || prefix.includes('\0')) {
      throw new DedupConfigError('prefix: must be text without NUL', ['prefix']);
    }
    this.#client = client;
    this.#prefix = prefix;
    this.#allowEviction = allowEviction;
    this.#keysPerCall = client.isCluster ? 1 : KEYS_PER_CALL;
    this.#shared = new SharedLeases(prefix, this.#script);
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

  async claim(namespace: string, requests: readonly ClaimRequest[], times: Times): Promise<readonly Answer[]> {
    // One part is named and written after the other, so that the server works on the first meanwhile.
    const claiming = this.#inCalls(requests, (part) =>
      this.#claimTogether(this.#namesOf(namespace, part), part, times),
    );
    const answers = (await claiming).flat();
    // Most keys are new, and have their answer by now.
    return answers.every(isFinal) ? answers : this.#lookAtLeases(namespace, requests, answers, times);
  }

  renew(namespace: string, leases: readonly Lease[], leaseMs: number): Promise<readonly boolean[]> {
    return this.#divided(
      leases,
      (keys) => this.#shared.renew(keys, leaseMs),
      (alone) => this.#script(RENEW, this.#namesOf(namespace, alone), [leaseMs, ...alone.map(({ fence }) => fence)]),
    );
  }

  complete(namespace: string, leases: readonly Completed[], retentionMs: number): Promise<readonly boolean[]> {
    return this.#divided(
      leases,
      (keys, own) =>
        this.#shared.complete(
          keys,
          own.map(({ result }) => result),
          retentionMs,
        ),
      (alone) => {
        const args: RedisArgument[] = [retentionMs];
        for (const { fence, result } of alone) args.push(fence, encodeResult(result));
        return this.#script(COMPLETE, this.#namesOf(namespace, alone), args);
      },
    );
  }

  release(namespace: string, leases: readonly Lease[]): Promise<readonly boolean[]> {
    return this.#divided(
      leases,
      (keys) => this.#shared.release(keys),
      (alone) =>
        this.#script(
          RELEASE,
          this.#namesOf(namespace, alone),
          alone.map(({ fence }) => fence),
        ),
    );
  }

  async #claimTogether(
    names: readonly RedisArgument[],
    requests: readonly ClaimRequest[],
    { leaseMs, retentionMs }: Times,
  ): Promise<(Answer | SharedAnswer)[]> {
    const id = names.length === 1 ? '' : newLeaseId();
    let messages = '';
    for (const request of requests) messages += encodeMessage(request);
    const keys = id === '' ? names : [...names, this.#shared.nameOf(id)];
    const reply = await this.#script(CLAIM, keys, [leaseMs, retentionMs, id, messages]);
    const [claim, ...others] = reply as [Buffer, ...(number | Buffer)[]];
    const fresh = decodeClaim(claim);
    const lease = { id, fence: fresh.fence, keyNames: names, keptMs: leaseMs + retentionMs };
    const { state, fence, attempt, claimedAtMs, takeover } = fresh;
    const answers: (Answer | SharedAnswer)[] = names.map((_, index) =>
      id === '' ? fresh : { state, fence, attempt, claimedAtMs, takeover, handle: new SharedKey(lease, index) },
    );
    for (let at = 0; at < others.length; at += 2) {
      answers[(others[at] as number) - 1] = decodeAnswer(others[at + 1] as Buffer);
    }
    return answers;
  }

  /** Keys that were claimed with others: done or held, as their leases say, or claimable. */
  async #lookAtLeases(
    namespace: string,
    requests: readonly ClaimRequest[],
    claimed: readonly (Answer | SharedAnswer)[],
    { leaseMs, retentionMs }: Times,
  ): Promise<Answer[]> {
    const answers: (Answer | SharedAnswer | LetGo)[] = [...claimed];
    const byLease = new Map<string, { place: number; answer: SharedAnswer }[]>();
    for (const [place, answer] of claimed.entries()) {
      if (answer.state === 'shared') pushTo(byLease, answer.leaseId, { place, answer });
    }
    const looking = Array.from(byLease.values(), async (keys) => {
      const looked = await this.#shared.look(keys.map(({ answer }) => answer));
      for (const [at, { place }] of keys.entries()) answers[place] = looked[at]!;
    });
    await all(looking);
    const letGo = answers.flatMap((answer, place) => (answer.state === 'let-go' ? [{ place, ...answer }] : []));
    await this.#inCalls(letGo, async (part) => {
      const args: RedisArgument[] = [leaseMs, retentionMs];
      for (const { place, value, fence, takeover } of part) {
        args.push(value, fence, takeover ? 'T' : 'F', encodeMessage(requests[place]!));
      }
      const keys = this.#namesOf(
        namespace,
        part.map(({ place }) => requests[place]!),
      );
      const replies = (await this.#script(CLAIM_LET_GO, keys, args)) as Buffer[];
      for (const [at, { place }] of part.entries()) answers[place] = decodeAnswer(replies[at]!);
    });
    return answers as Answer[];
  }

  /** Those that share a lease in one call for each lease, those that were claimed alone in few calls; the answers in order. */
  async #divided<L extends Lease>(
    leases: readonly L[],
    askShared: (keys: readonly SharedKey[], own: readonly L[]) => Promise<readonly boolean[]>,
    askAlone: (alone: readonly L[]) => Promise<unknown>,
  ): Promise<readonly boolean[]> {
    const answers: boolean[] = new Array(leases.length).fill(false);
    const alone: { place: number; lease: L }[] = [];
    const byLease = new Map<SharedLease, { places: number[]; keys: SharedKey[]; own: L[] }>();
    for (const [place, lease] of leases.entries()) {
      const key = lease.handle;
      if (!(key instanceof SharedKey)) {
        alone.push({ place, lease });
        continue;
      }
      let shared = byLease.get(key.lease);
      if (shared === undefined) {
        shared = { places: [], keys: [], own: [] };
        byLease.set(key.lease, shared);
      }
      shared.places.push(place);
      shared.keys.push(key);
      shared.own.push(lease);
    }
    const askingShared = Array.from(byLease.values(), async ({ places, keys, own }) => {
      const told = await askShared(keys, own);
      for (const [at, place] of places.entries()) answers[place] = told[at]!;
    });
    const askingAlone = this.#inCalls(alone, async (part) => {
      const told = (await askAlone(part.map(({ lease }) => lease))) as number[];
      for (const [at, { place }] of part.entries()) answers[place] = told[at] === 1;
    });
    await all<unknown>([...askingShared, askingAlone]);
    return answers;
  }

  /** In parts as large as one call may be, all of which leave at once. */
  #inCalls<T, R>(items: readonly T[], call: (part: readonly T[]) => Promise<R>): Promise<R[]> {
    const calls: Promise<R>[] = [];
    for (let from = 0; from < items.length; from += this.#keysPerCall) {
      calls.push(call(items.slice(from, from + this.#keysPerCall)));
    }
    return all(calls);
  }

  #namesOf(namespace: string, items: readonly { readonly key: Buffer }[]): RedisArgument[] {
    // A namespace has no NUL, so no two pairs of namespace and key share a name.
    const head = `${this.#prefix}${namespace}\0`;
    return items.map(({ key }) => nameOf(head, key));
  }

  readonly #script = async (
    script: Script,
    names: readonly RedisArgument[],
    args: readonly RedisArgument[],
  ): Promise<unknown> => {
    try {
      return await runScript(this.#client, script, names, args);
    } catch (error) {
      throw withoutCommand(error);
    }
  };
}

function pushTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function isFinal(answer: Answer | SharedAnswer): answer is Answer {
  return answer.state !== 'shared';
}

/** ioredis writes a command that is all text several times as fast as one with bytes in it. */
function nameOf(head: string, key: Buffer): RedisArgument {
  return isAscii(key) ? head + key.toString('latin1') : Buffer.concat([Buffer.from(head), key]);
}

/** Each call is waited for, so that none goes on behind an error already reported. */
async function all<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
