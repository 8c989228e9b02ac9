import { createProducer, type Producer } from '@sendonce/producer-core';
import { createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import { brokerName, logTable, narrate, notebookTable } from './cluster-views.ts';
import { payment, payments, topic } from './payments.ts';
import { retire } from './retire.ts';
import type { Scene, Stage } from './stage.ts';

/** Longer than `lingerMs`: what was sent before is in a batch of its own. */
const untilBatchLeavesMs = 10;

function startService(stage: Stage, cluster: MemoryCluster): Promise<Producer> {
  return createProducer({
    transport: cluster.transport(),
    runtime: stage.runtime,
    clientId: 'payment-service',
    requestTimeoutMs: 1_000,
  });
}

export const workedExample: Scene = {
  title: 'Numbers in every batch: the worked example',
  async play(stage) {
    const cluster = createMemoryCluster({
      runtime: stage.runtime,
      brokers: 3,
      topics: { [topic]: { replicationFactor: 3, minInsyncReplicas: 2, firstOffset: 900 } },
      firstProducerId: 5001,
      producerIdBlockSize: 1,
    });
    const producer = await startService(stage, cluster);
    stage.say(
      'The service starts and asks for a producer id. It gets 5001. Every record now has a number, counted per partition, ' +
        'and every batch carries the number of its first record. The broker keeps a notebook: for each producer, the last five batches.',
    );
    stage.checkEqual('the producer id is 5001', producer.stats().producerId, 5001n);
    narrate(stage, cluster);

    await loseAReply(stage, cluster, producer);
    await killTheLeader(stage, cluster, producer);
    await restartTheService(stage, cluster, producer);
  },
};

async function loseAReply(stage: Stage, cluster: MemoryCluster, producer: Producer): Promise<void> {
  const first = await producer.sendBatch(payments(0, 3));
  stage.checkEqual('four records, 0–3, are stored at 900–903', offsetsOf(first), [900n, 901n, 902n, 903n]);

  stage.say(
    'Two more, 4–5, are stored, but the reply is lost. Meanwhile the service goes on: 6–8 are lost on their way, and 9–11 arrive first.',
  );
  cluster.faults.loseReply({ topic, baseSequence: 4 });
  cluster.faults.loseRequest({ topic, baseSequence: 6 });
  const sending = [];
  for (const [from, to] of [
    [4, 5],
    [6, 8],
    [9, 11],
  ] as const) {
    sending.push(producer.sendBatch(payments(from, to)));
    await stage.wait(untilBatchLeavesMs);
  }
  const refused = cluster.events.find((event) => event.type === 'batch-refused');
  stage.checkEqual(
    'the batch that starts at 9 was refused: the broker expected 6',
    refused?.type === 'batch-refused' && [refused.baseSequence, refused.expectedSequence],
    [9, 6],
  );
  stage.say(
    'No answer for a second: the connection is dropped, and all three go again in their order, with the numbers they had. ' +
      'The broker finds 4–5 in its notebook, stores nothing, and answers with the offsets of the first time.',
  );
  const places = await Promise.all(sending);
  stage.checkEqual('4–5 were recognised, with offsets 904–905', offsetsOf(places[0]!), [904n, 905n]);
  stage.checkEqual('6–8 are at 906–908', offsetsOf(places[1]!), [906n, 907n, 908n]);
  stage.checkEqual('9–11 are at 909–911', offsetsOf(places[2]!), [909n, 910n, 911n]);
  stage.table(logTable(cluster, 0));
  stage.table(notebookTable(cluster, 0));
}

async function killTheLeader(stage: Stage, cluster: MemoryCluster, producer: Producer): Promise<void> {
  const partition = cluster.partition(topic, 0);
  const before = partition.leader;
  stage.say(
    `Now broker ${brokerName(before)}, the leader, dies after storing 12–13 and before it answers. Its followers have copied the batch, and with it its numbers: ` +
      'each keeps a notebook of its own. The repeat goes to the new leader.',
  );
  cluster.faults.kill({ topic, baseSequence: 12 }, 'after');
  const places = await producer.sendBatch(payments(12, 13));
  const { leader } = partition;
  stage.check(`another broker leads now: ${brokerName(leader)}`, leader !== before);
  stage.checkEqual(
    `${brokerName(leader)} recognised the repeat`,
    cluster.events.filter((event) => event.type === 'batch-recognised').map((event) => event.baseSequence),
    [4, 12],
  );
  stage.checkEqual('12–13 are stored once, at 912–913', offsetsOf(places), [912n, 913n]);
  stage.table(notebookTable(cluster, 0));
}

async function restartTheService(stage: Stage, cluster: MemoryCluster, producer: Producer): Promise<void> {
  stage.say(
    'Last, the service itself restarts. It does not know whether payment 13 went out, so it sends it again. ' +
      'It is a new producer, with a new id: nothing in the notebook says that this is a repeat.',
  );
  await retire(stage, producer);
  const restarted = await startService(stage, cluster);
  const { offset } = await restarted.send(payment(13));
  stage.checkEqual('the new producer id is 5002', restarted.stats().producerId, 5002n);
  stage.checkEqual('the same payment is stored a second time, at 914', offset, 914n);
  await retire(stage, restarted);
  stage.table(logTable(cluster, 0));
  stage.table(notebookTable(cluster, 0));
  stage.say(
    'This is the boundary: the broker guards one session of one producer. What is beyond it is guarded by the payment’s own key, in the consumer.',
  );
}

function offsetsOf(places: readonly { readonly offset: bigint }[]): bigint[] {
  return places.map(({ offset }) => offset);
}
