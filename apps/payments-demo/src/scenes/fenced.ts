import { createProducer, ProducerClosedError, ProducerFencedError } from '@sendonce/producer-core';
import type { Transport } from '@sendonce/producer-core/transport';
import { createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import { logTable, narrate, notebookTable } from './cluster-views.ts';
import { payment, topic } from './payments.ts';
import { retire } from './retire.ts';
import type { Scene, Stage } from './stage.ts';

const producerId = 7n;

/** A cluster that gives out one id with an epoch that grows, as it does to producers that share a transactional id. */
function withEpoch(transport: Transport, epoch: number): Transport {
  return {
    connect: (signal) => transport.connect(signal),
    close: () => transport.close(),
    metadata: (topics) => transport.metadata(topics),
    initProducerId: async () => ({ producerId, epoch }),
    produce: (brokerId, request) => transport.produce(brokerId, request),
  };
}

function startWithEpoch(stage: Stage, cluster: MemoryCluster, epoch: number) {
  return createProducer({
    transport: withEpoch(cluster.transport(), epoch),
    runtime: stage.runtime,
    logger: { info: () => {}, warn: (message) => stage.event(message) },
  });
}

export const fenced: Scene = {
  title: 'The older epoch is fenced',
  async play(stage) {
    stage.say(
      'Two processes hold the same producer id: one that everybody thought dead, with epoch 0, and the one that took its place, with epoch 1. ' +
        'Once the broker has seen epoch 1, it takes nothing from epoch 0.',
    );
    const cluster = createMemoryCluster({ runtime: stage.runtime, topics: { [topic]: {} } });
    const old = await startWithEpoch(stage, cluster, 0);
    await old.send(payment(1));
    const successor = await startWithEpoch(stage, cluster, 1);
    await successor.send(payment(2));
    narrate(stage, cluster);

    const zombie = await old.send(payment(3)).catch((error: unknown) => error);
    stage.check(
      'the older one is refused, and told that its payment is certainly not stored',
      zombie instanceof ProducerFencedError && zombie.fate === 'not-stored',
      String(zombie),
    );
    const later = await old.send(payment(4)).catch((error: unknown) => error);
    stage.check(
      'it has stopped for good: its next send fails at once',
      later instanceof ProducerClosedError,
      String(later),
    );
    const { offset } = await successor.send(payment(5));
    stage.checkEqual('its successor does not notice', offset, 2n);
    stage.table(logTable(cluster, 0));
    stage.table(notebookTable(cluster, 0));
    await retire(stage, old, successor);
  },
};
