import type { ConformanceCase } from './environment.ts';
import { expectEqual, expectStatus, expectStatuses, expectTrue } from './expect.ts';
import { latch } from './latch.ts';
import { messageOf, type TestMessage, uniqueName } from './messages.ts';
import { consumer } from './single-cases.ts';

const always = (): boolean => true;

function keyOf(message: TestMessage): string {
  return String(message.headers['idempotency-key']);
}

/** Cases about many messages at once. */
export const batchCases: readonly ConformanceCase[] = [
  {
    name: 'a batch hands only fresh messages to its handler, in their order, and answers in order',
    rule: 'D2',
    applies: always,
    async run(environment) {
      const name = uniqueName('batch');
      const dedup = consumer(environment, name, { keepResult: true });
      await dedup.process(messageOf('b'), () => 'earlier');
      const given: string[] = [];
      const messages = ['c', 'b', 'a'].map((key, index) => messageOf(key, { offset: BigInt(index) }));
      const outcomes = await dedup.processBatch(messages, async (fresh, context) => {
        for (const message of fresh) {
          given.push(keyOf(message));
          await environment.effect(context, name);
        }
        return fresh.map((message) => `result of ${keyOf(message)}`);
      });
      expectEqual(given, ['c', 'a']);
      expectStatuses(outcomes, ['processed', 'duplicate', 'processed']);
      expectEqual(expectStatus(outcomes[2]!, 'processed').result, 'result of a');
      expectEqual(expectStatus(outcomes[1]!, 'duplicate').first.result, 'earlier');
      expectEqual(await environment.effects(name), 2);
      const again = await dedup.process(messageOf('a'), () => undefined);
      expectEqual(expectStatus(again, 'duplicate').first.result, 'result of a');
    },
  },
  {
    name: 'repeats inside a batch are duplicates of the first, or conflicts with it',
    rule: 'D5, R5',
    applies: always,
    async run(environment) {
      const name = uniqueName('repeats');
      const dedup = consumer(environment, name);
      const messages = [
        messageOf('a', { offset: 1n }),
        messageOf('a', { offset: 2n }),
        messageOf('b', { offset: 3n }),
        messageOf('a', { offset: 4n, value: 'other' }),
      ];
      const outcomes = await dedup.processBatch(messages, async (fresh, context) => {
        for (const _ of fresh) await environment.effect(context, name);
      });
      expectStatuses(outcomes, ['processed', 'duplicate', 'processed', 'conflict']);
      expectEqual(expectStatus(outcomes[1]!, 'duplicate').first.source.offset, 1n);
      expectEqual(await environment.effects(name), 2);
    },
  },
  {
    name: 'one duplicate in a batch does not take the others with it',
    rule: 'R7',
    applies: always,
    async run(environment) {
      const name = uniqueName('others');
      const dedup = consumer(environment, name);
      await dedup.process(messageOf('p50'), () => undefined);
      const messages = Array.from({ length: 100 }, (_, index) => messageOf(`p${index}`));
      const outcomes = await dedup.processBatch(messages, async (fresh, context) => {
        for (const _ of fresh) await environment.effect(context, name);
      });
      expectStatuses(
        outcomes,
        messages.map((_, index) => (index === 50 ? 'duplicate' : 'processed')),
      );
      expectEqual(await environment.effects(name), 99);
    },
  },
  {
    name: 'a batch whose handler fails leaves no trace of its fresh messages, and still knows the duplicates',
    rule: 'D7',
    applies: always,
    async run(environment) {
      const name = uniqueName('batch-failed');
      const dedup = consumer(environment, name);
      await dedup.process(messageOf('done'), () => undefined);
      const messages = ['x', 'done', 'y'].map((key) => messageOf(key));
      const error = new Error('poison');
      const outcomes = await dedup.processBatch(messages, async (_, context) => {
        if (environment.kind === 'transaction') await environment.effect(context, name);
        throw error;
      });
      expectStatuses(outcomes, ['failed', 'duplicate', 'failed']);
      expectTrue(expectStatus(outcomes[0]!, 'failed').error === error, 'the very same error');
      expectEqual(await environment.effects(name), 0);
      const retry = await dedup.processBatch(messages, () => undefined);
      expectStatuses(retry, ['processed', 'duplicate', 'processed']);
    },
  },
  {
    name: "with isolate: 'message' one poison message does not hold up the rest",
    rule: 'D7',
    applies: always,
    async run(environment) {
      const name = uniqueName('poison');
      const dedup = consumer(environment, name);
      const messages = ['a', 'poison', 'b', 'poison'].map((key) => messageOf(key));
      const error = new Error('poison');
      const outcomes = await dedup.processBatch(
        messages,
        async (fresh, context) => {
          if (fresh.some((message) => keyOf(message) === 'poison')) throw error;
          for (const _ of fresh) await environment.effect(context, name);
        },
        { isolate: 'message' },
      );
      expectStatuses(outcomes, ['processed', 'failed', 'processed', 'failed']);
      expectTrue(expectStatus(outcomes[1]!, 'failed').error === error, 'the very same error');
      expectEqual(await environment.effects(name), 2);
      const retry = await dedup.process(messageOf('poison'), () => undefined);
      expectStatus(retry, 'processed');
    },
  },
  {
    name: 'two batches with the same keys in opposite orders never wait for each other',
    rule: 'D5, R6',
    applies: always,
    async run(environment) {
      const name = uniqueName('orders');
      const consumers = [consumer(environment, name), consumer(environment, name)];
      const rounds = Math.ceil(environment.rounds / 20);
      for (let round = 0; round < rounds; round++) {
        const messages = Array.from({ length: 20 }, (_, index) => messageOf(`r${round}-${index}`));
        const results = await Promise.all(
          [messages, messages.toReversed()].map((batch, index) =>
            consumers[index]!.processBatch(batch, async (fresh, context) => {
              for (const _ of fresh) await environment.effect(context, name);
            }),
          ),
        );
        for (const outcome of results.flat()) {
          expectTrue(outcome.status === 'processed' || outcome.status === 'duplicate', `${outcome.status}`);
        }
      }
      expectEqual(await environment.effects(name), rounds * 20);
    },
  },
  {
    name: 'overlapping batches and single messages apply each key once',
    rule: 'D3, D5',
    applies: always,
    async run(environment) {
      const name = uniqueName('overlap');
      const consumers = Array.from({ length: 4 }, () => consumer(environment, name));
      const keys = Array.from({ length: 60 }, (_, index) => `k${index}`);
      const batches = consumers.map((dedup, index) =>
        dedup.processBatch(
          keys.slice(index * 10, index * 10 + 30).map((key) => messageOf(key)),
          async (fresh, context) => {
            for (const _ of fresh) await environment.effect(context, name);
          },
        ),
      );
      const singles = keys.map((key, index) =>
        consumers[index % 4]!.process(messageOf(key), (_, context) => environment.effect(context, name)),
      );
      await Promise.all([...batches, ...singles]);
      expectEqual(await environment.effects(name), keys.length);
    },
  },
  {
    name: "with isolate: 'message' a key that another consumer holds does not hold up the rest",
    rule: 'D2',
    applies: ({ concurrent }) => concurrent,
    async run(environment) {
      const name = uniqueName('held');
      const inHandler = latch();
      const finish = latch();
      const holding = consumer(environment, name).process(messageOf('held'), async () => {
        inHandler.open();
        await finish.opened;
      });
      await inHandler.opened;
      const outcomes = await consumer(environment, name, { onInProgress: 'report' }).processBatch(
        ['a', 'held', 'b'].map((key) => messageOf(key)),
        () => undefined,
        { isolate: 'message' },
      );
      expectStatuses(outcomes, ['processed', 'in-progress', 'processed']);
      finish.open();
      expectStatus(await holding, 'processed');
    },
  },
  {
    name: 'an empty batch, and one without a usable key, never reach the handler',
    rule: 'D1',
    applies: always,
    async run(environment) {
      const dedup = consumer(environment, uniqueName('empty'));
      const never = (): never => {
        throw new Error('the handler ran');
      };
      expectEqual(await dedup.processBatch([], never), []);
      const outcomes = await dedup.processBatch([{ value: 'no headers' }], never);
      expectEqual(expectStatus(outcomes[0]!, 'failed').reason, 'message');
    },
  },
];
