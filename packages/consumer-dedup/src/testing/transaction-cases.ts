import type { ConformanceCase, StoreTraits } from './environment.ts';
import { expectEqual, expectStatuses } from './expect.ts';
import { messageOf, uniqueName } from './messages.ts';
import { consumer } from './single-cases.ts';

const onTransactions = ({ kind }: StoreTraits): boolean => kind === 'transaction';

/** Cases about stores where claim and effect commit together (rule D3). */
export const transactionCases: readonly ConformanceCase[] = [
  {
    name: 'offsets are stored with the effects, up to the first message that may not be committed, and never go back',
    rule: 'D3',
    applies: onTransactions,
    async run(environment) {
      const name = uniqueName('offsets');
      const dedup = consumer(environment, name, { commitOffsets: true });
      expectEqual(await dedup.offsets(['payments']), []);
      const messages = ['a', 'b', 'poison', 'c'].map((key, index) => messageOf(key, { offset: BigInt(index + 5) }));
      const outcomes = await dedup.processBatch(
        [...messages, messageOf('other', { partition: 1, offset: 70n })],
        (fresh) => {
          if (fresh.some(({ headers }) => headers['idempotency-key'] === 'poison')) throw new Error('poison');
        },
        { isolate: 'message' },
      );
      expectStatuses(outcomes, ['processed', 'processed', 'failed', 'processed', 'processed']);
      const stored = [
        { topic: 'payments', partition: 0, nextOffset: 7n },
        { topic: 'payments', partition: 1, nextOffset: 71n },
      ];
      expectEqual(await dedup.offsets(['payments', 'unknown']), stored);
      await dedup.process(messages[0]!, () => undefined);
      expectEqual(await dedup.offsets(['payments']), stored);
    },
  },
  {
    name: 'a batch that rolled back stores no offset',
    rule: 'D3',
    applies: onTransactions,
    async run(environment) {
      const dedup = consumer(environment, uniqueName('no-offset'), { commitOffsets: true });
      await dedup.processBatch([messageOf('a', { offset: 5n })], () => {
        throw new Error('no');
      });
      expectEqual(await dedup.offsets(['payments']), []);
    },
  },
];
