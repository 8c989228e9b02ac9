import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { createDeduplicator } from './deduplicator.ts';
import type { DedupHooks, MessageWatch, OutcomeEvent } from './hooks.ts';
import { memoryStore } from './memory-store.ts';

const message = (key: string, value = 'v', offset = 0) => ({
  topic: 'payments',
  partition: 1,
  offset,
  value,
  headers: { 'idempotency-key': key },
});

function deduplicatorWith(hooks: DedupHooks) {
  return createDeduplicator({ store: memoryStore(), namespace: 'ledger', hooks });
}

describe('onMessage', () => {
  it('is called in the caller’s async context, and the handler runs in the one that its watch makes', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const dedup = deduplicatorWith({
      onMessage: (_message, source) => {
        seen.push(storage.getStore(), source.partition);
        return { run: (work) => storage.run('span', work) };
      },
    });
    await storage.run('caller', () => dedup.process(message('a'), async () => seen.push(storage.getStore())));
    expect(seen).toEqual(['caller', 1, 'span']);
  });

  it('a watch hears its message’s outcome once, before the general hook and the caller', async () => {
    const order: string[] = [];
    const dedup = deduplicatorWith({
      onMessage: () => ({ onOutcome: ({ status }) => order.push(`watch ${status}`) }),
      onOutcome: ({ status }) => order.push(`hook ${status}`),
    });
    await dedup.process(message('a'), async () => {});
    order.push('caller');
    await dedup.process(message('a'), async () => {});
    expect(order).toEqual(['watch processed', 'hook processed', 'caller', 'watch duplicate', 'hook duplicate']);
  });

  it('a duplicate and a conflict are shown the run that came first', async () => {
    const events: OutcomeEvent[] = [];
    const dedup = deduplicatorWith({ onOutcome: (event) => events.push(event) });
    await dedup.process(message('a', 'v', 7), async () => {});
    await dedup.process(message('a', 'v', 8), async () => {});
    await dedup.process(message('a', 'other', 9), async () => {});
    expect(events.map(({ status, first }) => [status, first?.source.offset])).toEqual([
      ['processed', undefined],
      ['duplicate', 7n],
      ['conflict', 7n],
    ]);
  });

  it('each message of a batch has its own watch; none of them runs the work', async () => {
    const heard: [string, string][] = [];
    let runs = 0;
    const dedup = deduplicatorWith({
      onMessage: ({ value }) => ({
        run: () => runs++,
        onOutcome: ({ status }) => heard.push([String(value), status]),
      }),
    });
    await dedup.processBatch([message('a', '1'), message('b', '2'), message('a', '1')], async () => {});
    expect(heard).toEqual([
      ['1', 'processed'],
      ['2', 'processed'],
      ['1', 'duplicate'],
    ]);
    expect(runs).toBe(0);
  });

  it.for<[string, unknown, string | null]>([
    ['printable ASCII', 'x'.repeat(256), 'x'.repeat(256)],
    ['too long', 'x'.repeat(257), null],
    ['empty', '', null],
    ['not text', 17, null],
    ['more than ASCII', 'é', null],
    ['more than one line', 'a\n', null],
  ])('a note that is %s is kept as it is or not at all', async ([, note, kept]) => {
    const dedup = deduplicatorWith({ onMessage: () => ({ note }) as MessageWatch });
    await dedup.process(message('a'), async () => {});
    expect(await dedup.process(message('a'), async () => {})).toMatchObject({ first: { note: kept } });
  });

  it('hears of a message that can’t be read', async () => {
    const heard: OutcomeEvent[] = [];
    const dedup = deduplicatorWith({ onMessage: () => ({ onOutcome: (event) => heard.push(event) }) });
    await dedup.process({ topic: 'payments', offset: 'not a number', value: null }, async () => {});
    expect(heard).toMatchObject([{ status: 'failed', reason: 'message', source: { topic: null } }]);
  });

  const boom = (): never => {
    throw new Error('boom');
  };
  it.for<[string, NonNullable<DedupHooks['onMessage']>]>([
    ['throws', boom],
    ['is async and rejects', (async () => boom()) as never],
    ['returns a watch whose run throws before the work', () => ({ run: boom })],
    [
      'returns a watch whose run throws after the work',
      () => ({
        run: (work) => {
          work();
          boom();
        },
      }),
    ],
    [
      'returns a watch whose run does the work twice',
      () => ({
        run: (work) => {
          work();
          work();
        },
      }),
    ],
    ['returns a watch whose run forgets the work', () => ({ run: () => {} })],
    ['returns a watch whose run rejects', (() => ({ run: async () => boom() })) as () => MessageWatch],
    [
      'returns a watch whose note throws',
      () => ({
        get note() {
          return boom();
        },
      }),
    ],
    ['returns a watch whose onOutcome throws', () => ({ onOutcome: boom })],
  ])('a hook that %s does not stop the handler, which runs once', async ([, onMessage]) => {
    let handled = 0;
    const dedup = deduplicatorWith({ onMessage });
    const outcome = await dedup.process(message('a'), async () => {
      handled++;
      return 'done';
    });
    expect(outcome).toMatchObject({ status: 'processed', result: 'done' });
    expect(handled).toBe(1);
  });
});
