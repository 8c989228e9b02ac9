import { createProducer, DeliveryTimeoutError } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { logTable, narrate, notebookTable } from './cluster-views.ts';
import { payment, payments, topic } from './payments.ts';
import { retire } from './retire.ts';
import type { Scene } from './stage.ts';

const partitions = 2;

export const deliveryTimeout: Scene = {
  title: 'Time runs out: a fate, and a new epoch',
  async play(stage) {
    stage.say(
      'Each batch has one budget of time, here three seconds, for everything: waiting, attempts and pauses. This one’s replies are lost every time. ' +
        'When its time is over the send fails, and the error says what is known: a request left, so the batch may be stored or not.',
    );
    const cluster = createMemoryCluster({ runtime: stage.runtime, topics: { [topic]: { partitions } } });
    const bumps: string[] = [];
    const producer = await createProducer({
      transport: cluster.transport(),
      runtime: stage.runtime,
      requestTimeoutMs: 1_000,
      deliveryTimeoutMs: 3_000,
      hooks: {
        onEvent: (event) => {
          if (event.type !== 'epoch-bumped') return;
          bumps.push(`partition ${event.partition}`);
          stage.event(`partition ${event.partition} goes on with epoch ${event.epoch}, and counts from 0 again`);
        },
      },
    });
    await producer.sendBatch([...payments(0, 1), ...payments(2, 3, 1)]);
    narrate(stage, cluster, partitions);

    const lost = cluster.faults.loseReply({ topic, partition: 0, baseSequence: 2, times: 100 });
    const error = await producer.send(payment(4)).catch((error: unknown) => error);
    lost.cancel();
    stage.check(
      'the send failed when its time was over, with fate "unknown"',
      error instanceof DeliveryTimeoutError && error.fate === 'unknown',
      String(error),
    );

    stage.say(
      'Number 2 of partition 0 is used up now: whoever gave it to another record would risk that the broker takes one for the other. ' +
        'So this partition takes its next epoch and starts at 0. Partition 1 has nothing to do with it and goes on as it was.',
    );
    const [next, other] = await Promise.all([producer.send(payment(5)), producer.send(payment(6, 1))]);
    await retire(stage, producer);
    stage.table(logTable(cluster, 0));
    stage.table(notebookTable(cluster, 0));
    stage.table(notebookTable(cluster, 1));
    stage.checkEqual('only partition 0 took a new epoch', bumps, ['partition 0']);
    stage.checkEqual('the failed payment is stored at most once; the next one after it', next?.offset, 3n);
    stage.checkEqual(
      'partition 0 holds epochs 0, 0, 1; partition 1 holds 0, 0',
      [0, 1].map((partition) => cluster.dump(topic, partition).map(({ producerEpoch }) => producerEpoch)),
      [
        [0, 0, 1],
        [0, 0],
      ],
    );
    stage.checkEqual('partition 1 went on at offset 2', other?.offset, 2n);
  },
};
