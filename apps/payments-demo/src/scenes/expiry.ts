import { createProducer } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { logTable, narrate, notebookTable } from './cluster-views.ts';
import { payment, topic } from './payments.ts';
import { retire } from './retire.ts';
import type { Scene, Stage } from './stage.ts';

const dayMs = 86_400_000;

export const expiry: Scene = {
  title: 'The broker forgets',
  async play(stage) {
    await idleProducer(stage);
    await oldTimestamps(stage);
  },
};

async function idleProducer(stage: Stage): Promise<void> {
  stage.say(
    'A producer that writes nothing for a day is forgotten. The service sends a payment, sleeps over the weekend, and sends the next one.',
  );
  const cluster = createMemoryCluster({ runtime: stage.runtime, topics: { [topic]: {} } });
  const suspicions: string[] = [];
  const producer = await createProducer({
    transport: cluster.transport(),
    runtime: stage.runtime,
    hooks: {
      onEvent: (event) => {
        if (event.type === 'data-loss-suspected') suspicions.push(event.trigger);
        if (event.type === 'epoch-bumped') stage.event(`partition 0 goes on with epoch ${event.epoch}`);
      },
    },
  });
  await producer.send(payment(1));
  await stage.wait(2 * dayMs);
  narrate(stage, cluster);
  stage.event('two days later');
  const { offset } = await producer.send(payment(2));
  await retire(stage, producer);
  stage.table(logTable(cluster, 0));
  stage.checkEqual(
    'the next payment is stored once, after the first',
    [offset, cluster.dump(topic, 0).length],
    [1n, 2],
  );
  stage.checkEqual('nobody suspects a loss: forgetting is what brokers do', suspicions, []);
}

async function oldTimestamps(stage: Stage): Promise<void> {
  stage.say(
    'Current brokers count that day from the newest record’s timestamp. So whoever loads last year’s payments with their own dates is forgotten within minutes: ' +
      'here the reply is lost, the broker looks through its notebook meanwhile, and the repeat is stored again. No producer can prevent it; ours warns before it happens.',
  );
  const cluster = createMemoryCluster({
    runtime: stage.runtime,
    topics: { [topic]: {} },
    profile: 'kafka-4',
    producerIdExpirationCheckMs: 10_000,
  });
  narrate(stage, cluster);
  const warned: string[] = [];
  const producer = await createProducer({
    transport: cluster.transport(),
    runtime: stage.runtime,
    requestTimeoutMs: 30_000,
    logger: { info: () => {}, warn: (message) => stage.event(message) },
    hooks: { onEvent: (event) => void (event.type === 'retries-unprotected' && warned.push(event.topic)) },
  });
  const lastYear = stage.runtime.wallClockMs() - 365 * dayMs;
  cluster.faults.loseReply({ topic });
  await producer.send({ ...payment(1), timestamp: lastYear });
  await retire(stage, producer);
  stage.table(logTable(cluster, 0));
  stage.table(notebookTable(cluster, 0));
  stage.checkEqual('the producer warned, once for the topic', warned, [topic]);
  stage.checkEqual(
    'the payment is stored twice: the consumer’s deduplication has to catch it',
    cluster.dump(topic, 0).length,
    2,
  );
}
