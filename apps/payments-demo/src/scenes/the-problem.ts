import { createProducer } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { logTable, narrate } from './cluster-views.ts';
import { payments, topic } from './payments.ts';
import { retire } from './retire.ts';
import type { Scene } from './stage.ts';

export const theProblem: Scene = {
  title: 'The problem: a lost reply',
  async play(stage) {
    stage.say(
      'A payment service sends three payments. Idempotence is switched off. The broker stores them, and its reply gets lost. ' +
        'The service does not know what happened, so it does the only thing it can: it sends them again.',
    );
    const cluster = createMemoryCluster({ runtime: stage.runtime, topics: { [topic]: { firstOffset: 40 } } });
    narrate(stage, cluster);
    const producer = await createProducer({
      transport: cluster.transport(),
      runtime: stage.runtime,
      idempotence: false,
      requestTimeoutMs: 1_000,
      logger: { info: () => {}, warn: (message) => stage.event(message) },
    });

    cluster.faults.loseReply({ topic });
    const places = await producer.sendBatch(payments(1, 3));
    await retire(stage, producer);

    stage.table(logTable(cluster, 0));
    stage.checkEqual(
      'the service heard of offsets 43–45 only',
      places.map(({ offset }) => offset),
      [43n, 44n, 45n],
    );
    stage.checkEqual(
      'the log holds the three payments twice, at 40–42 and 43–45',
      cluster.dump(topic, 0).map(({ baseOffset, lastOffset }) => [baseOffset, lastOffset]),
      [
        [40, 42],
        [43, 45],
      ],
    );
    stage.say('Three customers pay twice. From here on idempotence is on, which is the default.');
  },
};
