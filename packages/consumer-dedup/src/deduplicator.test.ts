import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MAX_BATCH_MESSAGES } from './call-checks.ts';
import { createDeduplicator } from './deduplicator.ts';
import { DedupConfigError, StoreUnavailableError } from './errors.ts';
import type { DedupHooks } from './hooks.ts';
import { memoryStore } from './memory-store.ts';
import { committable, isCommittable } from './outcome.ts';
import type { LeaseStore } from './store.ts';
import { latch } from './testing/latch.ts';
import { messageOf } from './testing/messages.ts';

/** A memory store with some of its calls replaced. */
function storeWith(calls: Partial<LeaseStore>): LeaseStore {
  return Object.assign(memoryStore(), calls);
}

describe('messages without a key', () => {
  it('D1: fail, saying what to do', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const outcome = await dedup.process({ value: 'x' }, () => undefined);
    expect(outcome).toMatchObject({ status: 'failed', reason: 'message', key: null, error: { code: 'MISSING_KEY' } });
  });

  it("D1: with onMissingKey 'use-position', the same record is recognised, and the same event elsewhere is not", async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n', onMissingKey: 'use-position' });
    const at = (offset: number) => ({ topic: 't', partition: 0, offset, value: 'x' });
    const statuses = [];
    for (const offset of [1, 1, 2]) statuses.push((await dedup.process(at(offset), () => undefined)).status);
    expect(statuses).toEqual(['processed', 'duplicate', 'processed']);
  });

  it('D1: a key function that throws fails its message alone, with its own error', async () => {
    const error = new Error('no id');
    const dedup = createDeduplicator({
      store: memoryStore(),
      namespace: 'n',
      key: ({ value }) => {
        if (value === 'bad') throw error;
        return value;
      },
    });
    const outcomes = await dedup.processBatch([{ value: 'good' }, { value: 'bad' }], () => undefined);
    expect(outcomes).toMatchObject([{ status: 'processed' }, { status: 'failed', reason: 'message', error }]);
  });

  it('an offset that is no number fails its message', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const outcome = await dedup.process({ ...messageOf('a'), offset: 'ten' }, () => undefined);
    expect(outcome).toMatchObject({ status: 'failed', reason: 'message' });
  });
});

describe('fingerprints', () => {
  it('D2: false compares nothing; a function compares what it returns', async () => {
    const blind = createDeduplicator({ store: memoryStore(), namespace: 'n', fingerprint: false });
    await blind.process(messageOf('a', { value: '1' }), () => undefined);
    expect((await blind.process(messageOf('a', { value: '2' }), () => undefined)).status).toBe('duplicate');
    const amounts = createDeduplicator({
      store: memoryStore(),
      namespace: 'n',
      fingerprint: ({ value }) => String(JSON.parse(String(value)).amount),
    });
    const process = (value: string) => amounts.process(messageOf('a', { value }), () => undefined);
    const statuses = [];
    for (const value of ['{"amount":1,"sentAt":1}', '{"amount":1,"sentAt":2}', '{"amount":2,"sentAt":1}']) {
      statuses.push((await process(value)).status);
    }
    expect(statuses).toEqual(['processed', 'duplicate', 'conflict']);
  });
});

describe('D6: a store that does not answer', () => {
  it('fails the message after storeTimeoutMs, without running the handler', async () => {
    const store = storeWith({ claim: () => new Promise(() => {}) });
    const dedup = createDeduplicator({ store, namespace: 'n', storeTimeoutMs: 20 });
    let ran = false;
    const outcome = await dedup.process(messageOf('a'), () => {
      ran = true;
    });
    expect(outcome).toMatchObject({ status: 'failed', reason: 'store' });
    expect(ran).toBe(false);
  });

  it('is opened again by the next message', async () => {
    let tries = 0;
    const store = storeWith({
      open: async () => {
        if (++tries === 1) throw new Error('not yet');
      },
    });
    const dedup = createDeduplicator({ store, namespace: 'n' });
    const outcome = await dedup.process(messageOf('a'), () => undefined);
    expect(outcome).toMatchObject({ status: 'failed', reason: 'store', error: { code: 'STORE_UNAVAILABLE' } });
    expect((await dedup.process(messageOf('a'), () => undefined)).status).toBe('processed');
  });

  it('at release leaves the handler’s own error to be seen', async () => {
    const error = new Error('handler');
    const store = storeWith({ release: () => Promise.reject(new Error('store')) });
    const outcome = await createDeduplicator({ store, namespace: 'n' }).process(messageOf('a'), () => {
      throw error;
    });
    expect(outcome).toMatchObject({ status: 'failed', reason: 'handler', error });
  });

  it('while the lease is renewed aborts the handler’s signal when the lease has ended', async () => {
    const store = storeWith({ renew: () => Promise.reject(new Error('away')) });
    const dedup = createDeduplicator({ store, namespace: 'n', leaseMs: 100 });
    const outcome = await dedup.process(messageOf('a'), async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return signal.reason.code;
    });
    // Nobody took over, so the mark is still made: the effect happened once.
    expect(outcome).toMatchObject({ status: 'processed', result: 'LEASE_LOST' });
  });
});

describe('results', () => {
  it('D7: one that JSON can’t hold fails the message, and its effect, which is done, is not repeated', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n', keepResult: true });
    for (const [index, result] of [1n, () => undefined, Symbol('s')].entries()) {
      let effects = 0;
      const handler = () => {
        effects++;
        return result;
      };
      const message = messageOf(`key-${index}`);
      expect(await dedup.process(message, handler)).toMatchObject({ status: 'failed', error: { code: 'RESULT' } });
      expect(await dedup.process(message, handler)).toMatchObject({ status: 'duplicate' });
      expect(effects).toBe(1);
    }
  });

  it('of a batch are one for each fresh message, or none', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const outcomes = await dedup.processBatch([messageOf('a'), messageOf('b')], () => ['only one']);
    expect(outcomes).toMatchObject([{ error: { code: 'RESULT' } }, { error: { code: 'RESULT' } }]);
    const again = await dedup.processBatch([messageOf('a'), messageOf('b')], () => ['only one']);
    expect(again.map(({ status }) => status)).toEqual(['duplicate', 'duplicate']);
  });
});

describe('what a call can’t use is refused at once, with a typed error', () => {
  const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });

  it.each([null, undefined, 'abc', { length: 1 }])('messages: %j', async (messages) => {
    await expect(dedup.processBatch(messages as never, () => undefined)).rejects.toThrow(DedupConfigError);
  });

  it('a handler that is none', async () => {
    await expect(dedup.processBatch([], null as never)).rejects.toThrow(/handler: must be a function/);
    expect(() => dedup.eachMessage(undefined as never)).toThrow(DedupConfigError);
    expect(() => dedup.eachBatch({} as never)).toThrow(DedupConfigError);
  });

  it.each([
    [{ maxMessages: Number.NaN }, /maxMessages/],
    [{ maxMessages: 0 }, /maxMessages/],
    [{ maxMessages: -1 }, /maxMessages/],
    [{ maxMessages: 1.5 }, /maxMessages/],
    [{ isolate: 'all' }, /isolate/],
    [{ maxMessage: 5 }, /maxMessage: is not an option/],
    [null, /options/],
  ])('eachBatch with %j', (options, message) => {
    expect(() => dedup.eachBatch(() => undefined, options as never)).toThrow(message);
  });

  it.each(['', ' ', '1.5', 'x'])('the offset %j', async (offset) => {
    const outcome = await dedup.process({ ...messageOf('a'), offset }, () => undefined);
    expect(outcome).toMatchObject({ status: 'failed', reason: 'message', error: { code: 'CONFIG' } });
  });
});

describe('batches', () => {
  it('that are too long, or isolated in no known way, are refused whole', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const many = Array.from({ length: MAX_BATCH_MESSAGES + 1 }, (_, index) => messageOf(`k${index}`));
    await expect(dedup.processBatch(many, () => undefined)).rejects.toThrow(DedupConfigError);
    await expect(dedup.processBatch([], () => undefined, { isolate: 'all' as 'batch' })).rejects.toThrow(/isolate/);
  });
});

describe('hooks', () => {
  const failing: DedupHooks = {
    onOutcome: () => {
      throw new Error('hook');
    },
    onStoreOperation: async () => {
      throw new Error('hook');
    },
  };

  it('that fail change nothing', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n', hooks: failing });
    expect((await dedup.process(messageOf('a'), () => undefined)).status).toBe('processed');
  });

  it('tell each outcome and each request to the store', async () => {
    const seen: string[] = [];
    const dedup = createDeduplicator({
      store: memoryStore(),
      namespace: 'ledger',
      hooks: {
        onOutcome: ({ namespace, store, status, reason, source, durationMs }) =>
          seen.push(`${namespace} ${store} ${status} ${reason} ${source.offset} ${durationMs >= 0}`),
        onStoreOperation: ({ operation, keys, error }) => seen.push(`${operation} ${keys} ${error}`),
      },
    });
    await dedup.process(messageOf('a', { offset: 7n }), () => undefined);
    await dedup.process(messageOf('b', { offset: 8n }), () => {
      throw new Error('no');
    });
    expect(seen).toEqual([
      'claim 1 null',
      'complete 1 null',
      'ledger memory processed null 7 true',
      'claim 1 null',
      'release 1 null',
      'ledger memory failed handler 8 true',
    ]);
  });
});

describe('D2: what may be committed', () => {
  it('is what was processed, a duplicate or a conflict; anything else throws its own error', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const error = new Error('handler');
    const failed = await dedup.process(messageOf('a'), () => {
      throw error;
    });
    expect(isCommittable(failed)).toBe(false);
    expect(() => committable(failed)).toThrow(error);
    const processed = await dedup.process(messageOf('a'), () => 5);
    expect(committable(processed)).toBe(processed);
    expect(isCommittable(await dedup.process(messageOf('a'), () => 5))).toBe(true);
    expect(isCommittable(await dedup.process(messageOf('a', { value: 'other' }), () => 5))).toBe(true);
  });
});

it('offsets() needs commitOffsets', async () => {
  const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
  await expect(dedup.offsets(['t'])).rejects.toThrow(DedupConfigError);
});

it('a store that fails with a bug of its own is reported as unavailable, with the bug as its cause', async () => {
  const cause = new TypeError('bug');
  const store = storeWith({ claim: () => Promise.reject(cause) });
  const outcome = await createDeduplicator({ store, namespace: 'n' }).process(messageOf('a'), () => undefined);
  expect(outcome).toMatchObject({ status: 'failed', error: expect.any(StoreUnavailableError) });
  expect((outcome as { error: Error }).error.cause).toBe(cause);
});

it('D4: a renewal that finds keys already marked is no lost lease', async () => {
  const store = memoryStore();
  const renewed = latch();
  const found: (readonly boolean[])[] = [];
  const slow = storeWith({
    claim: (...args) => store.claim(...args),
    release: (...args) => store.release(...args),
    async renew(...args) {
      found.push(await store.renew(...args));
      // What waits for the answer comes before what waits for the latch.
      setImmediate(renewed.open);
      return found.at(-1)!;
    },
    async complete(...args) {
      const answers = await store.complete(...args);
      await renewed.opened;
      return answers;
    },
  });
  const lost: unknown[] = [];
  const dedup = createDeduplicator({
    store: slow,
    namespace: 'n',
    leaseMs: 1_000,
    hooks: { onLeaseLost: (event) => lost.push(event) },
  });
  const outcomes = await dedup.processBatch([messageOf('a'), messageOf('b')], () => undefined);
  expect(outcomes.map(({ status }) => status)).toEqual(['processed', 'processed']);
  expect(found[0]).toEqual([false, false]);
  expect(lost).toEqual([]);
});

it('D4: a lease that ends unrenewed while its keys are being marked is not reported as lost', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const store = memoryStore();
  const completing = latch();
  const answered = latch();
  const slow = storeWith({
    claim: (...args) => store.claim(...args),
    renew: () => new Promise(() => undefined),
    async complete(...args) {
      completing.open();
      await answered.opened;
      return store.complete(...args);
    },
  });
  const lost: unknown[] = [];
  const hooks: DedupHooks = { onLeaseLost: (event) => lost.push(event) };
  const dedup = createDeduplicator({ store: slow, namespace: 'n', leaseMs: 1_000, storeTimeoutMs: 60_000, hooks });
  const processing = dedup.process(messageOf('a'), () => undefined);
  await completing.opened;
  await vi.advanceTimersByTimeAsync(2_000);
  answered.open();
  expect((await processing).status).toBe('processed');
  expect(lost).toEqual([]);
});
