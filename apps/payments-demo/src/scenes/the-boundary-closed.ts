import { once } from 'node:events';
import { createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import type { PaymentSystem } from '../system/payment-system.ts';
import type { Reconciliation } from '../system/reconcile/reconciliation.ts';
import { logTable } from './cluster-views.ts';
import type { Scene, Stage } from './stage.ts';

const key = 'payment-13';
const order = { from: 'account-13', to: 'account-1', amountMinor: 2_000, currency: 'EUR' } as const;

/** The whole system, as `npm run demo:web` starts it. */
export const theBoundaryClosed: Scene = {
  title: 'The restart, closed: stored twice, applied once',
  inRealTime: true,
  async play(stage) {
    stage.say(
      'Last, the whole system: an API that takes payments, three brokers, and a ledger in Postgres, all in this process. ' +
        'The ledger’s consumer writes a payment’s two entries and its key in one transaction: both are there afterwards, or neither.',
    );
    // Loaded only here: the other scenes need no database.
    const { startPaymentSystem } = await import('../system/payment-system.ts');
    const { memoryPaymentsCluster } = await import('../system/cluster/memory-payments-cluster.ts');
    const cluster = createMemoryCluster({ brokers: 3 });
    const system = await startPaymentSystem({
      cluster: memoryPaymentsCluster(cluster),
      database: 'pglite',
      notifications: 'memory',
      port: 0,
      logger: false,
      hooks: stage.hooks.producer,
    });
    try {
      await restartTheProducer(stage, system, cluster);
      await crashTheConsumer(stage, system);
      await compareTheBooks(stage, system);
    } finally {
      await system.close();
    }
  },
};

async function restartTheProducer(stage: Stage, system: PaymentSystem, cluster: MemoryCluster): Promise<void> {
  const first = nextOutcome(system);
  await system.pay(order, key);
  stage.checkEqual(`payment 13 is accepted under the key ${key}, and applied`, await first, 'processed');
  const before = system.producer.stats()?.producerId;
  await system.producer.restartProducer();
  stage.event(`the API restarts: its producer had the id ${before} and has ${system.producer.stats()?.producerId} now`);
  const second = nextOutcome(system);
  const { partition } = await system.resend(key);
  stage.event('it does not know whether payment 13 went out, and sends it again');
  const outcome = await second;
  stage.table(logTable(cluster, partition));
  const { recordsInLog, applied, duplicatesCaughtByKey } = await settled(system);
  stage.checkEqual('payment 13 is in the log twice: no broker could tell', recordsInLog, 2);
  stage.checkEqual('the ledger found its key', outcome, 'duplicate');
  stage.checkEqual('and so applied it once', [applied, duplicatesCaughtByKey], [1, 1]);
}

async function crashTheConsumer(stage: Stage, system: PaymentSystem): Promise<void> {
  const crashed = system.crashConsumer();
  await system.pay(order, 'payment-14');
  await crashed;
  stage.event('payment 14 is applied, and the consumer dies before it can say that it read it');
  const readAgain = nextOutcome(system);
  await system.restartConsumer();
  stage.checkEqual('it comes back, reads payment 14 again, and finds its key', await readAgain, 'duplicate');
}

async function compareTheBooks(stage: Stage, system: PaymentSystem): Promise<void> {
  const { accepted, recordsInLog, applied, notified, ledgerSumMinor, differences } = await settled(system);
  stage.table({
    title: 'The books',
    columns: ['what', 'number'],
    rows: [
      ['payments accepted', accepted],
      ['records in the log', recordsInLog],
      ['payments applied', applied],
      ['payers told', notified],
      ['sum of all accounts, in cents', ledgerSumMinor],
    ],
  });
  stage.checkEqual(
    'two payments accepted, two applied, and the ledger’s sum is zero',
    [accepted, applied, ledgerSumMinor],
    [2, 2, 0],
  );
  stage.checkEqual('no payment differs between the books', differences, []);
  stage.say('The same system in a browser, with a button for everything that can go wrong: npm run demo:web');
}

/** What the ledger’s de-duplication makes of the next record. */
function nextOutcome({ events }: PaymentSystem): Promise<string> {
  return new Promise((resolve) => {
    events.on('message-outcome', ({ consumer, status }) => {
      if (consumer === 'ledger') resolve(status);
    });
  });
}

/** The books, when everything in the log was read. */
async function settled(system: PaymentSystem): Promise<Reconciliation> {
  for (;;) {
    const another = once(system.events, 'message-outcome');
    const books = await system.reconcile();
    if (books.waitingForLedger + books.waitingForNotification === 0) return books;
    await another;
  }
}
