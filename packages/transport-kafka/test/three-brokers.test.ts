import { createProducer, type ProducerEvent, type ProducerOptions } from '@sendonce/producer-core';
import { type ConformanceCapability, selectConformanceCases } from '@sendonce/producer-core/testing';
import { apiKeys, type KafkaBehindProxy, startKafkaBehindProxy, withAdmin } from '@sendonce/test-services';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKafkaTransport } from '../src/index.ts';
import {
  oneBrokerCapabilities,
  runConformanceCase,
  untilProducerIdsAreGiven,
} from './conformance-environment.testkit.ts';
import { moveLeader, reassign, untilPlaced } from './leaders.testkit.ts';
import { sendSteadily, until } from './steady-sending.testkit.ts';

// Leaders that move, replicas that are missing, brokers that go and come back.

let cluster: KafkaBehindProxy;

beforeAll(async () => {
  cluster = await startKafkaBehindProxy({ brokers: 3, config: { 'broker.session.timeout.ms': 3_000 } });
  await untilProducerIdsAreGiven(cluster);
});
afterAll(() => cluster?.stop());

async function producerOf(options: Partial<ProducerOptions> = {}, brokers: readonly string[] = cluster.bootstrap) {
  const events: ProducerEvent[] = [];
  const producer = await createProducer({
    transport: createKafkaTransport({ brokers, clientId: 'three-brokers' }),
    hooks: { onEvent: (event) => events.push(event) },
    ...options,
  });
  return { producer, events };
}

const serialsIn = async (topic: string) =>
  (await cluster.kafka.readAll(topic)).map(({ value }) => Number(String(value)));

describe('T5: what one broker can’t be made to do', () => {
  const capabilities: readonly ConformanceCapability[] = [...oneBrokerCapabilities, 'several-brokers', 'move-leaders'];
  const cases = selectConformanceCases(capabilities).applicable.filter(({ needs }) =>
    needs.includes('several-brokers'),
  );

  test('there are such cases', () => expect(cases.length).toBeGreaterThanOrEqual(3));

  test.each(cases)('$name', (conformanceCase) => runConformanceCase(conformanceCase, cluster, capabilities));
});

describe('a leader that moves while records are sent', () => {
  test('KIP-951: the refusing broker’s hint is followed without a metadata request', async () => {
    const topic = 'hinted';
    await cluster.kafka.createTopic({ topic, replicationFactor: 3 });
    const { producer, events } = await producerOf();
    await using _ = producer;
    await producer.send({ topic, value: '0' });
    const leader = await moveLeader(cluster.kafka, topic);
    const asked = cluster.proxy.faults.requestsSeen(apiKeys.metadata);
    await producer.send({ topic, value: '1' });
    expect(cluster.proxy.faults.requestsSeen(apiKeys.metadata)).toBe(asked);
    expect(events).toContainEqual(expect.objectContaining({ type: 'leader-changed', topic, brokerId: leader }));
    expect(producer.stats()).toMatchObject({ retries: 1, attemptsLost: 0 });
    expect(await serialsIn(topic)).toEqual([0, 1]);
  });

  test('moved to brokers that did not have the partition: nothing lost, repeated or out of order', async () => {
    const topic = 'reassigned';
    await cluster.kafka.createTopic({ topic, replicationFactor: 1 });
    const { producer } = await producerOf();
    await using _ = producer;
    const run = sendSteadily((serial) => producer.send({ topic, value: String(serial) }));
    for (let round = 0; round < 3; round++) {
      const sent = run.acknowledged.length;
      await until('records', () => run.acknowledged.length > sent + 50);
      const { leader } = await untilPlaced(cluster.kafka, topic, () => true);
      const next = (leader % 3) + 1;
      await reassign(cluster.kafka, topic, [next]);
      await untilPlaced(cluster.kafka, topic, (place) => place.leader === next && place.replicas.length === 1);
    }
    const { acknowledged, failures } = await run.end();
    expect(failures).toEqual([]);
    expect(await serialsIn(topic)).toEqual(acknowledged);
  });

  test('a topic is deleted and made again with another leader and lower leader epochs: sending goes on there', async () => {
    const topic = 'made-again';
    const create = (leader: number) =>
      withAdmin(cluster.kafka.bootstrap, (admin) =>
        admin.createTopics({
          waitForLeaders: true,
          topics: [{ topic, replicaAssignment: [{ partition: 0, replicas: [leader] }] }],
        }),
      );
    await create(1);
    for (const replicas of [[2], [1]]) {
      await reassign(cluster.kafka, topic, replicas);
      await untilPlaced(cluster.kafka, topic, (place) => place.leader === replicas[0] && place.replicas.length === 1);
    }
    const { producer, events } = await producerOf({
      requestTimeoutMs: 2_000,
      deliveryTimeoutMs: 10_000,
      logger: { info: () => {}, warn: () => {} },
    });
    await using _ = producer;
    await producer.send({ topic, value: '0' });
    await withAdmin(cluster.kafka.bootstrap, (admin) => admin.deleteTopics({ topics: [topic] }));
    await create(3);
    expect(await producer.send({ topic, value: '1' })).toMatchObject({ topic, partition: 0, offset: 0n });
    expect(events).toContainEqual({ type: 'topic-recreated', topic, topicId: expect.any(String) });
    expect(await serialsIn(topic)).toEqual([1]);
  });
});

describe('replicas and brokers that are missing', () => {
  test('acks all with too few in-sync replicas: retried until the replica is back, nothing lost or repeated', async () => {
    const topic = 'all-three';
    await cluster.kafka.createTopic({ topic, replicationFactor: 3, config: { 'min.insync.replicas': 3 } });
    const answers: (string | null)[] = [];
    const { producer } = await producerOf({
      // What the replica's loss surprises is answered only when the request's own time is over.
      requestTimeoutMs: 2_000,
      hooks: { onAttemptEnded: (_, { errorName }) => answers.push(errorName) },
    });
    await using _ = producer;
    const run = sendSteadily((serial) => producer.send({ topic, value: String(serial) }));
    await until('records', () => run.acknowledged.length > 20);
    const { leader } = await untilPlaced(cluster.kafka, topic, ({ inSync }) => inSync.length === 3);
    const follower = cluster.kafka.brokerIds.find((id) => id !== leader)!;
    await cluster.kafka.kill(follower);
    await until('a refusal', () => answers.includes('NOT_ENOUGH_REPLICAS'));
    const held = run.acknowledged.length;
    await cluster.kafka.restart(follower);
    await until('records again', () => run.acknowledged.length > held + 20, 60_000);
    const { acknowledged, failures } = await run.end();
    expect(failures).toEqual([]);
    expect(await serialsIn(topic)).toEqual(acknowledged);
  });

  test('a leader is restarted while records are sent: nothing lost, repeated, out of order or given up', async () => {
    const topic = 'restarted';
    await cluster.kafka.createTopic({ topic, partitions: 3, replicationFactor: 3 });
    // One address does not resolve: the others are enough.
    const { producer } = await producerOf({}, ['no-such-broker.invalid:9092', ...cluster.bootstrap]);
    await using _ = producer;
    const runs = [0, 1, 2].map((partition) =>
      sendSteadily((serial) => producer.send({ topic, partition, value: String(serial) })),
    );
    const untilFlowing = () => {
      const sent = runs.map((run) => run.acknowledged.length);
      return until('records', () => runs.every((run, i) => run.acknowledged.length > sent[i]! + 50), 60_000);
    };
    await untilFlowing();
    const { leader } = await untilPlaced(cluster.kafka, topic, () => true);
    await cluster.kafka.restart(leader);
    await untilFlowing();
    const stored = async (partition: number) =>
      (await cluster.kafka.readAll(topic))
        .filter((record) => record.partition === partition)
        .map(({ value }) => Number(String(value)));
    for (const [partition, run] of runs.entries()) {
      const { acknowledged, failures } = await run.end();
      expect(failures).toEqual([]);
      expect(await stored(partition)).toEqual(acknowledged);
    }
  });
});
