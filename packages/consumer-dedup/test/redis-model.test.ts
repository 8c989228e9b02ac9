import { setTimeout as delay } from 'node:timers/promises';
import { type RedisService, startRedis } from '@sendonce/test-services/databases';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClaimRequest, type Lease, type LeaseStore, memoryStore } from '../src/index.ts';
import { type RedisClient, redisStore } from '../src/redis/index.ts';
import { uniqueName } from '../src/testing/messages.ts';

const KEYS = ['a', 'b', 'c', 'd', 'é'];
const RETENTION_MS = 600_000;
const RUNNING_MS = 300_000;
const OVER_MS = 1;

type Operation =
  | { kind: 'claim'; keys: string[]; isOver: boolean; alone: boolean }
  | { kind: 'renew'; claim: number; isOver: boolean }
  | { kind: 'complete'; leases: number[]; results: boolean }
  | { kind: 'release'; leases: number[] };

const places = fc.uniqueArray(fc.nat(30), { minLength: 1, maxLength: 6 });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      keys: fc.shuffledSubarray(KEYS, { minLength: 1 }),
      isOver: fc.boolean(),
      alone: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew' as const), claim: fc.nat(10), isOver: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('complete' as const), leases: places, results: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('release' as const), leases: places }) },
);

let service: RedisService;
let client: Redis;

beforeAll(async () => {
  service = await startRedis({ own: true });
  client = new Redis(service.url);
});

afterAll(async () => {
  client.disconnect();
  await service.close();
});

/** Claims each key by a call of its own, as in a Cluster: here with keys that were claimed together, as after a move to one. */
function asInACluster(single: Redis): RedisClient {
  return {
    isCluster: true,
    call: (command, ...args) => single.call(command, ...args),
    callBuffer: (command, ...args) => single.callBuffer(command, ...args),
  };
}

/** What both stores say of the same operations; fences differ, and so do the times that are left. */
class Pair {
  readonly namespace = uniqueName('model');
  readonly #together: LeaseStore;
  readonly #alone: LeaseStore;
  #nowMs = 1_000_000;
  readonly #model: LeaseStore = memoryStore({ clock: () => this.#nowMs });
  /** Every lease that was ever had, old ones too. */
  readonly #leases: { model: Lease; real: Lease }[] = [];
  readonly #claims: { model: Lease; real: Lease }[][] = [];
  #offset = 0n;

  constructor() {
    this.#together = redisStore({ client });
    this.#alone = redisStore({ client: asInACluster(client) });
  }

  async run(step: Operation): Promise<void> {
    switch (step.kind) {
      case 'claim':
        return this.#claim(step.keys, step.alone ? this.#alone : this.#together, step.isOver);
      case 'renew': {
        const leases = this.#claims[step.claim] ?? [];
        await this.#compare(leases, (store, own) => store.renew(this.namespace, own, leaseMsOf(step.isOver)));
        return this.#passTime();
      }
      case 'complete': {
        const leases = this.#at(step.leases);
        return this.#compare(leases, (store, own) =>
          store.complete(
            this.namespace,
            own.map((lease) => ({ ...lease, result: step.results ? `"${lease.key}"` : null })),
            RETENTION_MS,
          ),
        );
      }
      case 'release':
        return this.#compare(this.#at(step.leases), (store, own) => store.release(this.namespace, own));
    }
  }

  async #claim(keys: readonly string[], store: LeaseStore, isOver: boolean): Promise<void> {
    const requests = keys.map(
      (key): ClaimRequest => ({
        key: Buffer.from(key),
        fingerprint: Buffer.from(`of ${key}`),
        source: { topic: 't', partition: 0, offset: this.#offset++ },
        note: null,
      }),
    );
    const times = { leaseMs: leaseMsOf(isOver), retentionMs: RETENTION_MS };
    const expected = await this.#model.claim(this.namespace, requests, times);
    const answers = await store.claim(this.namespace, requests, times);
    const comparable = (all: typeof answers) =>
      all.map((answer) => {
        if (answer.state === 'leased') return [answer.state, answer.attempt, answer.takeover];
        return answer.state === 'held' ? answer.state : { ...answer.record, processedAtMs: 0 };
      });
    expect(comparable(answers)).toEqual(comparable(expected));
    const had = answers.flatMap((answer, place) => {
      const model = expected[place]!;
      if (answer.state !== 'leased' || model.state !== 'leased') return [];
      const { key } = requests[place]!;
      return [{ model: { key, fence: model.fence }, real: { key, fence: answer.fence, handle: answer.handle } }];
    });
    this.#leases.push(...had);
    this.#claims.push(had);
    await this.#passTime();
  }

  #at(wanted: readonly number[]): { model: Lease; real: Lease }[] {
    return wanted.flatMap((place) => this.#leases[place] ?? []);
  }

  async #compare(
    leases: readonly { model: Lease; real: Lease }[],
    ask: (store: LeaseStore, own: readonly Lease[]) => Promise<readonly boolean[]>,
  ): Promise<void> {
    const expected = await ask(
      this.#model,
      leases.map(({ model }) => model),
    );
    const answers = await ask(
      this.#together,
      leases.map(({ real }) => real),
    );
    expect(answers).toEqual(expected);
  }

  /** By Redis's own clock, as leases end by it. */
  async #passTime(): Promise<void> {
    await delay(3 * OVER_MS);
    this.#nowMs += 3 * OVER_MS;
  }
}

function leaseMsOf(isOver: boolean): number {
  return isOver ? OVER_MS : RUNNING_MS;
}

describe('Redis answers what the memory store answers', () => {
  it('D4, R2, R3: whatever is claimed, renewed, completed and released, together and alone, by old leases too', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 25 }), async (operations) => {
        const pair = new Pair();
        for (const step of operations) await pair.run(step);
      }),
      { numRuns: 150 },
    );
  }, 120_000);
});

describe('D8: keys that were claimed together', () => {
  const LEASE_MS = 60_000;
  const request = (key: string): ClaimRequest => ({
    key: Buffer.from(key),
    fingerprint: null,
    source: { topic: null, partition: null, offset: null },
    note: null,
  });

  async function claimed(
    leaseMs: number,
  ): Promise<{ store: LeaseStore; namespace: string; leases: (Lease & { result: null })[]; keys: string[] }> {
    const namespace = uniqueName('kept');
    const store = redisStore({ client });
    const requests = ['a', 'b', 'c'].map(request);
    const answers = await store.claim(namespace, requests, { leaseMs, retentionMs: RETENTION_MS });
    const leases = answers.map((answer, place) => {
      if (answer.state !== 'leased') throw new Error('a new key must be claimable');
      return { key: requests[place]!.key, fence: answer.fence, handle: answer.handle, result: null };
    });
    return { store, namespace, leases, keys: ['a', 'b', 'c'].map((key) => `sendonce:${namespace}\0${key}`) };
  }

  const leaseRecords = async (): Promise<string[]> => client.keys('sendonce:\0*');
  const keptMs = (keys: readonly string[]): Promise<number[]> => Promise.all(keys.map((key) => client.pttl(key)));

  it('are remembered for their retention from the mark, wherever in the lease it was made, and no longer than a lease more', async () => {
    await client.flushall();
    const { store, namespace, leases, keys } = await claimed(LEASE_MS);
    expect(await store.complete(namespace, leases, RETENTION_MS)).toEqual([true, true, true]);
    const kept = await keptMs(keys);
    expect(Math.min(...kept)).toBeGreaterThan(RETENTION_MS);
    expect(Math.max(...kept)).toBeLessThanOrEqual(RETENTION_MS + LEASE_MS);
    const [record, ...others] = await leaseRecords();
    expect(others).toEqual([]);
    expect(await client.pttl(record!)).toBeGreaterThanOrEqual(Math.max(...kept));
  });

  it('are remembered as long when their lease was renewed before', async () => {
    await client.flushall();
    const { store, namespace, leases, keys } = await claimed(LEASE_MS);
    const [record] = await leaseRecords();
    for (const key of [...keys, record!]) await client.pexpire(key, 5000);
    expect(await store.renew(namespace, leases, LEASE_MS)).toEqual([true, true, true]);
    const kept = await keptMs(keys);
    expect(Math.min(...kept)).toBeGreaterThan(RETENTION_MS);
    expect(await client.pttl(record!)).toBeGreaterThanOrEqual(Math.max(...kept));
  });

  it('are remembered as long when the mark comes after their lease', async () => {
    await client.flushall();
    const { store, namespace, leases, keys } = await claimed(1);
    await delay(5);
    for (const key of keys) await client.pexpire(key, 5000);
    expect(await store.complete(namespace, leases, RETENTION_MS)).toEqual([true, true, true]);
    expect(Math.min(...(await keptMs(keys)))).toBeGreaterThan(RETENTION_MS - 5000);
    await client.del(...(await leaseRecords()));
    const answers = await store.claim(namespace, ['a', 'b', 'c'].map(request), {
      leaseMs: LEASE_MS,
      retentionMs: RETENTION_MS,
    });
    expect(answers.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
  });

  it('that are gone when the lease is renewed are lost, and can’t be marked', async () => {
    const { store, namespace, leases, keys } = await claimed(LEASE_MS);
    await client.del(keys[1]!);
    expect(await store.renew(namespace, leases, LEASE_MS)).toEqual([true, false, true]);
    expect(await store.complete(namespace, leases, RETENTION_MS)).toEqual([true, false, true]);
  });

  it('that are gone when the lease is renewed, and another one’s by then, are lost and stay the other one’s', async () => {
    const { store, namespace, leases, keys } = await claimed(LEASE_MS);
    await client.del(keys[0]!, keys[1]!);
    const longer = { leaseMs: LEASE_MS, retentionMs: 10 * RETENTION_MS };
    const others = [
      ...(await store.claim(namespace, [request('a')], longer)),
      ...(await store.claim(namespace, ['b', 'd'].map(request), longer)),
    ];
    expect(others.map(({ state }) => state)).toEqual(['leased', 'leased', 'leased']);
    expect(await store.renew(namespace, leases, LEASE_MS)).toEqual([false, false, true]);
    expect(Math.min(...(await keptMs(keys.slice(0, 2))))).toBeGreaterThan(9 * RETENTION_MS);
    expect(await store.complete(namespace, leases, RETENTION_MS)).toEqual([false, false, true]);
    const renewed = ['a', 'b'].map((key, place) => {
      const answer = others[place]!;
      if (answer.state !== 'leased') throw new Error('a new key must be claimable');
      return { key: Buffer.from(key), fence: answer.fence, handle: answer.handle };
    });
    expect(await store.renew(namespace, renewed, LEASE_MS)).toEqual([true, true]);
  });

  it('whose lease is gone are claimable, once, and can’t be marked', async () => {
    await client.flushall();
    const { store, namespace, leases } = await claimed(LEASE_MS);
    await client.del(...(await leaseRecords()));
    expect(await store.complete(namespace, leases, RETENTION_MS)).toEqual([false, false, false]);
    const times = { leaseMs: LEASE_MS, retentionMs: RETENTION_MS };
    const rivals = await Promise.all([1, 2, 3].map(() => store.claim(namespace, ['c', 'b', 'a'].map(request), times)));
    for (const place of [0, 1, 2]) {
      expect(rivals.map((answers) => answers[place]!.state).sort()).toEqual(['held', 'held', 'leased']);
    }
  });

  it('D2: whose results were kept just when a duplicate came show it what was kept', async () => {
    const { store, namespace, leases } = await claimed(LEASE_MS);
    let calls = 0;
    const meeting = redisStore({
      client: {
        isCluster: false,
        call: (command, ...args) => client.call(command, ...args),
        async callBuffer(command, ...args) {
          const answer = await client.callBuffer(command, ...args);
          if (++calls === 1) {
            const withResults = leases.map((lease) => ({ ...lease, result: `"of ${lease.key}"` }));
            expect(await store.complete(namespace, withResults, RETENTION_MS)).toEqual([true, true, true]);
            expect(await store.complete(namespace, leases, RETENTION_MS)).toEqual([true, true, true]);
          }
          return answer;
        },
      },
    });
    const times = { leaseMs: LEASE_MS, retentionMs: RETENTION_MS };
    const answers = await meeting.claim(namespace, ['c', 'a', 'b'].map(request), times);
    expect(answers.map((answer) => (answer.state === 'done' ? answer.record.result : answer.state))).toEqual([
      '"of c"',
      '"of a"',
      '"of b"',
    ]);
  });

  it('that were let go by a consumer that then died are claimed by the next one, as what they were', async () => {
    const { store, namespace, leases } = await claimed(LEASE_MS);
    await store.release(namespace, leases);
    let calls = 0;
    const dying = redisStore({
      client: {
        isCluster: false,
        call: (command, ...args) => client.call(command, ...args),
        async callBuffer(command, ...args) {
          if (++calls > 2) throw new Error('died');
          return client.callBuffer(command, ...args);
        },
      },
    });
    const times = { leaseMs: LEASE_MS, retentionMs: RETENTION_MS };
    await expect(dying.claim(namespace, ['a', 'b', 'c'].map(request), times)).rejects.toThrow('died');
    expect(await store.complete(namespace, leases, RETENTION_MS)).toEqual([false, false, false]);
    const answers = await store.claim(namespace, ['a', 'b', 'c'].map(request), times);
    for (const answer of answers) expect(answer).toMatchObject({ state: 'leased', attempt: 2, takeover: false });
  });

  it('can’t be marked, renewed or released by one who does not show the claim’s handle', async () => {
    const { store, namespace, leases } = await claimed(LEASE_MS);
    const bare = leases.map(({ key, fence }) => ({ key, fence, result: null }));
    const none = [false, false, false];
    expect(await store.complete(namespace, bare, RETENTION_MS)).toEqual(none);
    expect(await store.renew(namespace, bare, LEASE_MS)).toEqual(none);
    expect(await store.release(namespace, bare)).toEqual(none);
    expect(await store.complete(namespace, leases, RETENTION_MS)).toEqual([true, true, true]);
  });

  it('shown twice, it says nothing of the others', async () => {
    const { store, namespace, leases } = await claimed(LEASE_MS);
    const [first, , third] = leases;
    const twice = [first!, first!, third!];
    expect(await store.release(namespace, twice)).toEqual([true, false, true]);
    expect(await store.renew(namespace, leases, LEASE_MS)).toEqual([false, true, false]);
    expect(await store.complete(namespace, twice, RETENTION_MS)).toEqual([false, false, false]);
    expect(await store.complete(namespace, leases, RETENTION_MS)).toEqual([false, true, false]);
    const marked = await claimed(LEASE_MS);
    const [one, other] = marked.leases;
    expect(await marked.store.complete(marked.namespace, [one!, other!, one!], RETENTION_MS)).toEqual([
      true,
      true,
      true,
    ]);
    expect(await marked.store.renew(marked.namespace, marked.leases, LEASE_MS)).toEqual([false, false, true]);
  });
});
