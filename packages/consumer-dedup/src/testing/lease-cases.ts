import type { ClaimRequest, Lease, LeaseStore } from '../store.ts';
import type { ConformanceCase, ConformanceEnvironment, StoreTraits } from './environment.ts';
import { expectEqual, expectStatus, expectStatuses, expectTrue } from './expect.ts';
import { latch } from './latch.ts';
import { messageOf, uniqueName } from './messages.ts';
import { consumer } from './single-cases.ts';

const onLeases = ({ kind }: StoreTraits): boolean => kind === 'lease';
const LEASE_MS = 150;
const times = { leaseMs: LEASE_MS, retentionMs: 60_000 };
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function leaseStore(environment: ConformanceEnvironment): LeaseStore {
  const store = environment.store();
  if (store.kind !== 'lease') throw new Error('a lease store was expected');
  return store;
}

function request(key: string): ClaimRequest {
  return {
    key: Buffer.from(key),
    fingerprint: null,
    source: { topic: null, partition: null, offset: null },
    note: null,
  };
}

interface NewLease extends Lease {
  readonly attempt: number;
}

/** Claims keys that nobody has had yet, in one call. */
async function claimNew(
  store: LeaseStore,
  namespace: string,
  keys: readonly string[],
  leaseMs = LEASE_MS,
): Promise<NewLease[]> {
  const answers = await store.claim(namespace, keys.map(request), { ...times, leaseMs });
  return answers.map((answer, place) => {
    if (answer.state !== 'leased') throw new Error('a new key must get its lease');
    const { fence, handle, attempt } = answer;
    return { key: Buffer.from(keys[place]!), fence, handle, attempt };
  });
}

/** Claims until the key's holder has lost it. */
async function takeOver(store: LeaseStore, namespace: string, key: string): Promise<number> {
  for (;;) {
    const [answer] = await store.claim(namespace, [request(key)], times);
    if (answer?.state === 'leased') {
      expectEqual(answer.takeover, true);
      return answer.fence;
    }
    expectEqual(answer?.state, 'held');
    await sleep(10);
  }
}

/** Cases about stores with leases (rule D4). */
export const leaseCases: readonly ConformanceCase[] = [
  {
    name: 'a claim is held for its lease, not for its retention, and the fence grows with every claim',
    rule: 'D4, R1, R4',
    applies: onLeases,
    async run(environment) {
      const store = leaseStore(environment);
      const namespace = uniqueName('lease');
      const startMs = performance.now();
      const [first] = (await claimNew(store, namespace, ['k'])) as [NewLease];
      expectEqual(first.attempt, 1);
      const [second] = await store.claim(namespace, [request('k')], times);
      if (second?.state !== 'held') throw new Error('a claim under a lease must be refused');
      expectTrue(second.remainingMs <= LEASE_MS, `${second.remainingMs} ms remain`);
      const fence = await takeOver(store, namespace, 'k');
      expectTrue(performance.now() - startMs >= LEASE_MS, 'taken over before the lease had ended');
      expectTrue(fence > first.fence, `fence ${fence} after ${first.fence}`);
      await store.release(namespace, [{ key: Buffer.from('k'), fence }]);
      const [third] = await store.claim(namespace, [request('k')], times);
      if (third?.state !== 'leased') throw new Error('a released key must be claimable');
      expectTrue(third.fence > fence, `fence ${third.fence} after ${fence}`);
      expectEqual(third.attempt, 3);
      expectEqual(third.takeover, false);
    },
  },
  {
    name: 'what lost its lease can neither complete, nor renew, nor release its successor’s claim',
    rule: 'D4, R2, R3',
    applies: onLeases,
    async run(environment) {
      const store = leaseStore(environment);
      const namespace = uniqueName('fenced');
      const [late] = (await claimNew(store, namespace, ['k'])) as [NewLease];
      const fence = await takeOver(store, namespace, 'k');
      expectEqual(await store.renew(namespace, [late], LEASE_MS), [false]);
      expectEqual(await store.release(namespace, [late]), [false]);
      expectEqual(await store.complete(namespace, [{ ...late, result: null }], 60_000), [false]);
      const successor = { key: Buffer.from('k'), fence };
      expectEqual(await store.complete(namespace, [{ ...successor, result: '1' }], 60_000), [true]);
      expectEqual(await store.complete(namespace, [{ ...successor, result: '1' }], 60_000), [true]);
      expectEqual(await store.release(namespace, [successor]), [false]);
      const [answer] = await store.claim(namespace, [request('k')], times);
      expectEqual(answer?.state, 'done');
    },
  },
  {
    name: 'a lease that ended, with nobody having taken over, can still be completed',
    rule: 'D4',
    applies: onLeases,
    async run(environment) {
      const store = leaseStore(environment);
      const namespace = uniqueName('late');
      const [lease] = (await claimNew(store, namespace, ['k'], 1)) as [NewLease];
      await sleep(5);
      expectEqual(await store.complete(namespace, [{ ...lease, result: null }], 60_000), [true]);
      const [answer] = await store.claim(namespace, [request('k')], times);
      expectEqual(answer?.state, 'done');
    },
  },
  {
    name: 'keys that were claimed in one call each have a fate of their own',
    rule: 'D4, D7, R3',
    applies: onLeases,
    async run(environment) {
      const store = leaseStore(environment);
      const namespace = uniqueName('together');
      const [a, b, c, d] = (await claimNew(store, namespace, ['a', 'b', 'c', 'd'], 60_000)) as [
        NewLease,
        NewLease,
        NewLease,
        NewLease,
      ];
      expectEqual(await store.complete(namespace, [{ ...c, result: null }], 60_000), [true]);
      expectEqual(await store.complete(namespace, [{ ...a, result: '"kept"' }], 60_000), [true]);
      expectEqual(await store.release(namespace, [b]), [true]);
      const seen = await store.claim(namespace, ['d', 'c', 'b', 'a'].map(request), times);
      expectEqual(
        seen.map(({ state }) => state),
        ['held', 'done', 'leased', 'done'],
      );
      expectEqual(
        seen.map((answer) => (answer.state === 'done' ? answer.record.result : undefined)),
        [undefined, null, undefined, '"kept"'],
      );
      expectEqual(await store.renew(namespace, [d], 1), [true]);
      const fence = await takeOver(store, namespace, 'd');
      expectTrue(fence > d.fence, `fence ${fence} after ${d.fence}`);
      const late = [a, b, c, d].map((lease) => ({ ...lease, result: null }));
      expectEqual(await store.renew(namespace, [d], LEASE_MS), [false]);
      expectEqual(await store.complete(namespace, late, 60_000), [true, false, true, false]);
      expectEqual(await store.release(namespace, late), [false, false, false, false]);
    },
  },
  {
    name: 'a handler that runs longer than its lease keeps it',
    rule: 'D4, R2',
    applies: onLeases,
    async run(environment) {
      const name = uniqueName('renewed');
      const inHandler = latch();
      // Long enough for a renewal to be in time on a machine that stands still for a moment.
      const leaseMs = 8 * LEASE_MS;
      const slow = consumer(environment, name, { leaseMs }).process(messageOf('k'), async (_, context) => {
        inHandler.open();
        await sleep(1.5 * leaseMs);
        await environment.effect(context, name);
      });
      await inHandler.opened;
      const second = consumer(environment, name).process(messageOf('k'), (_, context) =>
        environment.effect(context, name),
      );
      expectStatus(await slow, 'processed');
      expectStatus(await second, 'duplicate');
      expectEqual(await environment.effects(name), 1);
    },
  },
  {
    name: 'a handler whose lease was taken over is told by its signal, and its message fails as lease-lost',
    rule: 'D4',
    applies: onLeases,
    async run(environment) {
      const name = uniqueName('lost');
      const store = leaseStore(environment);
      const events: string[] = [];
      const dedup = consumer(environment, name, {
        leaseMs: LEASE_MS,
        hooks: { onLeaseLost: ({ keys }) => events.push(`lost ${keys}`) },
      });
      const outcome = await dedup.process(messageOf('k'), async (_, context) => {
        if (!('fence' in context)) throw new Error('a lease store was expected');
        // The holder was out for longer than its lease: as if it had been paused, another one comes.
        await store.renew(name, [{ key: Buffer.from('k'), fence: context.fence }], 1);
        await takeOver(store, name, 'k');
        await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }));
      });
      expectEqual(expectStatus(outcome, 'failed').reason, 'lease-lost');
      expectEqual(events, ['lost k']);
    },
  },
  {
    name: "with isolate: 'message' the messages that are yet to be tried keep their leases when others are done or failed",
    rule: 'D4, R2',
    applies: onLeases,
    async run(environment) {
      const name = uniqueName('tried-alone');
      const lost: string[] = [];
      let onRenewed = (): void => {};
      const dedup = consumer(environment, name, {
        leaseMs: 8 * LEASE_MS,
        hooks: {
          onLeaseLost: ({ keys }) => lost.push(`lost ${keys}`),
          onStoreOperation: ({ operation }) => operation === 'renew' && onRenewed(),
        },
      });
      const outcomes = await dedup.processBatch(
        ['done', 'poison', 'slow', 'last'].map((key) => messageOf(key)),
        async (fresh, context) => {
          const [key] = fresh.map((message) => String(message.headers?.['idempotency-key']));
          if (fresh.length > 1 || key === 'poison') throw new Error('poison');
          if (key !== 'slow') return;
          if (!('signal' in context)) throw new Error('a lease store was expected');
          const { signal } = context;
          for (let renewals = 0; renewals < 2 && !signal.aborted; renewals++) {
            await new Promise<void>((resolve) => {
              onRenewed = resolve;
              signal.addEventListener('abort', () => resolve(), { once: true });
            });
          }
          expectEqual(signal.aborted, false);
        },
        { isolate: 'message' },
      );
      expectStatuses(outcomes, ['processed', 'failed', 'processed', 'processed']);
      expectEqual(lost, []);
    },
  },
  {
    name: "with isolate: 'message' nothing more is tried once a lease was lost, and what was not tried is claimable",
    rule: 'D4, D7',
    applies: onLeases,
    async run(environment) {
      const name = uniqueName('lost-alone');
      const store = leaseStore(environment);
      const dedup = consumer(environment, name, { leaseMs: LEASE_MS });
      const tried: number[] = [];
      const outcomes = await dedup.processBatch(
        ['a', 'b', 'c'].map((key) => messageOf(key)),
        async (fresh, context) => {
          tried.push(fresh.length);
          if (!('signal' in context)) throw new Error('a lease store was expected');
          if (fresh.length > 1) throw new Error('not together');
          const { signal } = context;
          // A process that was paused, whose timers come late.
          const until = performance.now() + 2 * LEASE_MS;
          while (performance.now() < until);
          await takeOver(store, name, 'b');
          if (!signal.aborted)
            await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        },
        { isolate: 'message' },
      );
      expectEqual(tried, [3, 1]);
      expectStatuses(outcomes.slice(1), ['failed', 'failed']);
      for (const outcome of outcomes.slice(1)) expectEqual(expectStatus(outcome, 'failed').reason, 'lease-lost');
      const [answer] = await store.claim(name, [request('c')], times);
      expectEqual(answer?.state, 'leased');
    },
  },
];
