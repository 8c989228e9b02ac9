import { createDeduplicator, type Deduplicator } from '../deduplicator.ts';
import type { DeduplicatorOptions } from '../options.ts';
import type { DedupStore } from '../store.ts';
import type { ConformanceCase, ConformanceEnvironment } from './environment.ts';
import { expectEqual, expectStatus, expectStatuses, expectTrue } from './expect.ts';
import { latch } from './latch.ts';
import { messageOf, uniqueName } from './messages.ts';

const always = (): boolean => true;

/** A deduplicator on a store of its own connection, as another process would have it. */
export function consumer(
  environment: ConformanceEnvironment,
  namespace: string,
  options: Omit<Partial<DeduplicatorOptions<DedupStore>>, 'store' | 'namespace'> = {},
): Deduplicator<DedupStore> {
  return createDeduplicator({ store: environment.store(), namespace, ...options });
}

/** Cases about one message at a time. */
export const singleCases: readonly ConformanceCase[] = [
  {
    name: 'a key is processed once, and its repeat learns when, from where and with what result',
    rule: 'D2',
    applies: always,
    async run(environment) {
      const name = uniqueName('once');
      const dedup = consumer(environment, name, { keepResult: true });
      const first = await dedup.process(messageOf('p1', { offset: 41n, partition: 2 }), async (_, context) => {
        await environment.effect(context, name);
        return { balance: 12 };
      });
      expectEqual(expectStatus(first, 'processed').result, { balance: 12 });
      const again = await dedup.process(messageOf('p1', { offset: 99n }), async (_, context) => {
        await environment.effect(context, name);
      });
      const { first: known } = expectStatus(again, 'duplicate');
      expectEqual(known.source, { topic: 'payments', partition: 2, offset: 41n });
      expectEqual(known.result, { balance: 12 });
      expectTrue(Math.abs(known.processedAt.getTime() - Date.now()) < 60_000, `processed at ${known.processedAt}`);
      expectEqual(await environment.effects(name), 1);
    },
  },
  {
    name: 'without keepResult nothing of the result is kept',
    rule: 'D2',
    applies: always,
    async run(environment) {
      const dedup = consumer(environment, uniqueName('no-result'));
      await dedup.process(messageOf('p1'), () => ({ secret: 1 }));
      const again = await dedup.process(messageOf('p1'), () => ({ secret: 2 }));
      expectEqual(expectStatus(again, 'duplicate').first.result, undefined);
    },
  },
  {
    name: 'the same key in another namespace is another key',
    rule: 'D1',
    applies: always,
    async run(environment) {
      const name = uniqueName('scope');
      for (const namespace of [`${name}-a`, `${name}-b`]) {
        const outcome = await consumer(environment, namespace).process(messageOf('p1'), () => undefined);
        expectStatus(outcome, 'processed');
      }
    },
  },
  {
    name: 'the same key with another payload is a conflict, and the handler does not run',
    rule: 'D2',
    applies: always,
    async run(environment) {
      const dedup = consumer(environment, uniqueName('conflict'));
      await dedup.process(messageOf('p1', { value: '10 EUR' }), () => undefined);
      let ran = false;
      const outcome = await dedup.process(messageOf('p1', { value: '1000 EUR' }), () => {
        ran = true;
      });
      expectStatus(outcome, 'conflict');
      expectEqual(ran, false);
    },
  },
  {
    name: 'a handler that failed leaves no trace, and its error reaches the caller unchanged',
    rule: 'D7',
    applies: always,
    async run(environment) {
      const name = uniqueName('failed');
      const dedup = consumer(environment, name);
      const error = new RangeError('out of money');
      const outcome = await dedup.process(messageOf('p1'), async (_, context) => {
        if (environment.kind === 'transaction') await environment.effect(context, name);
        throw error;
      });
      const failed = expectStatus(outcome, 'failed');
      expectTrue(failed.error === error, 'the very same error');
      expectEqual(failed.reason, 'handler');
      expectEqual(await environment.effects(name), 0);
      const retry = await dedup.process(messageOf('p1', { value: 'corrected' }), (_, context) =>
        environment.effect(context, name),
      );
      expectStatus(retry, 'processed');
      expectEqual(await environment.effects(name), 1);
    },
  },
  {
    name: 'a concurrent duplicate waits for the first one and sees its result',
    rule: 'D3',
    applies: always,
    async run(environment) {
      const name = uniqueName('wait');
      const inHandler = latch();
      const finish = latch();
      const first = consumer(environment, name, { keepResult: true }).process(messageOf('p1'), async (_, context) => {
        inHandler.open();
        await finish.opened;
        await environment.effect(context, name);
        return 'first';
      });
      await inHandler.opened;
      let settled = false;
      const second = consumer(environment, name).process(messageOf('p1'), (_, context) =>
        environment.effect(context, name),
      );
      void second.then(() => {
        settled = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 50));
      expectEqual(settled, false);
      finish.open();
      expectStatus(await first, 'processed');
      expectEqual(expectStatus(await second, 'duplicate').first.result, 'first');
      expectEqual(await environment.effects(name), 1);
    },
  },
  {
    name: 'a concurrent duplicate of a handler that fails takes its place',
    rule: 'D7',
    applies: always,
    async run(environment) {
      const name = uniqueName('successor');
      const inHandler = latch();
      const finish = latch();
      const first = consumer(environment, name).process(messageOf('p1'), async () => {
        inHandler.open();
        await finish.opened;
        throw new Error('no');
      });
      await inHandler.opened;
      const second = consumer(environment, name).process(messageOf('p1'), (_, context) =>
        environment.effect(context, name),
      );
      finish.open();
      expectStatuses([await first, await second], ['failed', 'processed']);
      expectEqual(await environment.effects(name), 1);
    },
  },
  {
    name: "onInProgress 'report' says so at once, and waitMs bounds the wait",
    rule: 'D2',
    applies: always,
    async run(environment) {
      const name = uniqueName('report');
      const inHandler = latch();
      const finish = latch();
      const reporting = consumer(environment, name, { onInProgress: 'report' });
      const bounded = consumer(environment, name, { waitMs: 40 });
      await Promise.all([reporting.ready(), bounded.ready()]);
      const first = consumer(environment, name).process(messageOf('p1'), async () => {
        inHandler.open();
        await finish.opened;
      });
      await inHandler.opened;
      for (const dedup of [reporting, bounded]) {
        expectStatus(await dedup.process(messageOf('p1'), () => undefined), 'in-progress');
      }
      finish.open();
      expectStatus(await first, 'processed');
      expectStatus(await reporting.process(messageOf('p1'), () => undefined), 'duplicate');
    },
  },
  {
    name: 'two consumers with the same message at the same moment, again and again: each effect once',
    rule: 'D3',
    applies: always,
    async run(environment) {
      const name = uniqueName('race');
      const consumers = [consumer(environment, name), consumer(environment, name)];
      const atOnce = 10;
      for (let round = 0; round < environment.rounds; round += atOnce) {
        const races = Array.from({ length: Math.min(atOnce, environment.rounds - round) }, async (_, index) => {
          const message = messageOf(`p${round + index}`);
          const outcomes = await Promise.all(
            consumers.map((dedup) => dedup.process(message, (_, context) => environment.effect(context, name))),
          );
          expectStatuses(
            outcomes.toSorted((a, b) => a.status.localeCompare(b.status)),
            ['duplicate', 'processed'],
          );
        });
        await Promise.all(races);
      }
      expectEqual(await environment.effects(name), environment.rounds);
    },
  },
  {
    name: 'keys keep every byte: quotes, NUL, emoji, wildcards, binary, 10 MB',
    rule: 'D1',
    applies: always,
    async run(environment) {
      const long = Buffer.alloc(10 * 1024 * 1024, 'k');
      const other = Buffer.from(long);
      other[other.length - 1] = 0;
      const keys = [
        "O'Brien",
        '"quoted"',
        "'; DROP TABLE payments; --",
        '\\x00',
        'a\0b',
        'a\0c',
        'a',
        '💶',
        '{tag}',
        '*',
        '%',
        ' ',
        Buffer.from([0xff, 0xfe, 0x00, 0x80]),
        Buffer.from([0xff, 0xfe, 0x00, 0x81]),
        'x'.repeat(200),
        'x'.repeat(201),
        long,
        other,
      ];
      const dedup = consumer(environment, uniqueName('bytes'));
      for (const expected of ['processed', 'duplicate'] as const) {
        for (const key of keys) expectStatus(await dedup.process(messageOf(key), () => undefined), expected);
      }
    },
  },
  {
    name: 'a namespace is data, whatever it says',
    rule: 'D1',
    applies: always,
    async run(environment) {
      const name = uniqueName('');
      const hostile = [`"; DROP TABLE x; --`, `'; SELECT 1; --`, '$1', '{}', '*', 'a:b', 'a', '💶', '\\', '\n'];
      for (const expected of ['processed', 'duplicate'] as const) {
        for (const namespace of hostile) {
          const dedup = consumer(environment, `${namespace}${name}`);
          expectStatus(await dedup.process(messageOf('p1'), () => undefined), expected);
        }
      }
    },
  },
  {
    name: 'a processed key is remembered for its retention at least, by the store’s clock, and then forgotten',
    rule: 'D8',
    applies: always,
    async run(environment) {
      const retentionMs = 1000;
      const dedup = createDeduplicator({ store: await environment.isolatedStore(), namespace: 'short', retentionMs });
      const startMs = performance.now();
      expectStatus(await dedup.process(messageOf('p1'), () => undefined), 'processed');
      const doneMs = performance.now();
      for (;;) {
        const askedMs = performance.now();
        await dedup.maintain();
        const outcome = await dedup.process(messageOf('p1'), () => undefined);
        if (outcome.status === 'processed') {
          expectTrue(performance.now() - startMs >= retentionMs, `forgotten after ${performance.now() - startMs} ms`);
          return;
        }
        expectStatus(outcome, 'duplicate');
        expectTrue(askedMs - doneMs < 10 * retentionMs, `still there after ${askedMs - doneMs} ms`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  },
  {
    name: 'after close, nothing is processed any more, and what was running has ended',
    rule: 'D6',
    applies: always,
    async run(environment) {
      const name = uniqueName('close');
      const dedup = consumer(environment, name);
      const finish = latch();
      const inHandler = latch();
      const running = dedup.process(messageOf('p1'), async (_, context) => {
        inHandler.open();
        await finish.opened;
        await environment.effect(context, name);
      });
      await inHandler.opened;
      const closing = dedup.close();
      finish.open();
      await closing;
      expectEqual(await environment.effects(name), 1);
      expectStatus(await running, 'processed');
      expectStatus(await dedup.process(messageOf('p2'), () => undefined), 'failed');
    },
  },
];
