import { createProducer, createProducerPool } from '@sendonce/producer-core';
import { createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import { payment, topic } from './payments.ts';
import type { Scene, Stage } from './stage.ts';

const requests = 300;
const partitions = 6;
const poolSize = 2;

export const churn: Scene = {
  title: 'A producer for each request, or a pool',
  async play(stage) {
    stage.say(
      `${requests} requests come in, one payment each, to ${partitions} partitions with three replicas. First, each request makes a producer of its own and closes it, ` +
        `as one would do with an HTTP client. Then they share a pool of ${poolSize}.`,
    );
    const warnings: string[] = [];
    const apart = startCluster(stage);
    for (let number = 0; number < requests; number += 1) {
      const producer = await createProducer({
        transport: apart.transport(),
        runtime: stage.runtime,
        logger: { info: () => {}, warn: (message) => warnings.push(message) },
      });
      await producer.send(payment(number, number % partitions));
      await producer.close();
    }

    const together = startCluster(stage);
    const pool = createProducerPool({
      create: () => createProducer({ transport: together.transport(), runtime: stage.runtime }),
      size: poolSize,
    });
    await Promise.all(Array.from({ length: requests }, (_, number) => pool.send(payment(number, number % partitions))));
    const producersInPool = pool.stats().length;
    await pool.close();

    const entriesApart = notebookEntries(apart);
    const entriesTogether = notebookEntries(together);
    stage.table({
      title: 'What the brokers hold in memory, for a day',
      columns: ['way', 'payments', 'producers', 'notebook entries, all replicas'],
      rows: [
        ['a producer each', requests, requests, entriesApart],
        ['a pool', requests, producersInPool, entriesTogether],
      ],
    });
    for (const warning of warnings) stage.event(warning);
    stage.checkEqual('a producer each leaves an entry for each payment on each replica', entriesApart, requests * 3);
    stage.check(
      'the pool leaves one for each partition on each replica',
      entriesTogether === partitions * 3 && producersInPool <= poolSize,
      `${entriesTogether} entries of ${producersInPool} producers`,
    );
    stage.check('the churn was warned of, once', warnings.length <= 1, `${warnings.length} warnings`);
  },
};

function startCluster(stage: Stage): MemoryCluster {
  return createMemoryCluster({
    runtime: stage.runtime,
    brokers: 3,
    topics: { [topic]: { partitions, replicationFactor: 3 } },
  });
}

function notebookEntries(cluster: MemoryCluster): number {
  let entries = 0;
  for (let partition = 0; partition < partitions; partition += 1) {
    for (const broker of [1, 2, 3]) entries += cluster.partition(topic, partition).producerState(broker).length;
  }
  return entries;
}
