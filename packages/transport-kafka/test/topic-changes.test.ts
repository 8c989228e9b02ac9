import { createProducer, type ProducerOptions } from '@sendonce/producer-core';
import { describedProducers, type KafkaCluster, startKafka, withAdmin } from '@sendonce/test-services';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKafkaTransport } from '../src/index.ts';
import { sendSteadily, until } from './steady-sending.testkit.ts';

// Topics that change, and brokers that forget, while a producer is at work.

const expirationMs = 1_000;
let kafka: KafkaCluster;

beforeAll(async () => {
  kafka = await startKafka({
    config: {
      'broker.session.timeout.ms': 3_000,
      'producer.id.expiration.ms': expirationMs,
      'producer.id.expiration.check.interval.ms': 100,
    },
  });
});
afterAll(() => kafka?.stop());

function producerOf(options: Partial<ProducerOptions> = {}) {
  return createProducer({
    transport: createKafkaTransport({ brokers: kafka.bootstrap, clientId: 'topic-changes' }),
    logger: { info: () => {}, warn: () => {} },
    ...options,
  });
}

const serialsIn = async (topic: string) => (await kafka.readAll(topic)).map(({ value }) => Number(String(value)));

describe('a topic that changes while records are sent', () => {
  test('gains partitions: they are used once metadata is as old as allowed, nothing is lost or repeated', async () => {
    const topic = 'growing';
    await kafka.createTopic({ topic, partitions: 1 });
    await using producer = await producerOf({ metadataMaxAgeMs: 300 });
    const used = new Set<number>();
    const run = sendSteadily(async (serial) => {
      const { partition } = await producer.send({ topic, key: `key ${serial}`, value: String(serial) });
      used.add(partition);
    });
    await until('the first records', () => run.acknowledged.length > 20);
    expect([...used]).toEqual([0]);
    await withAdmin(kafka.bootstrap, (admin) =>
      admin.createPartitions({ topicPartitions: [{ topic, count: 4 }], validateOnly: false }),
    );
    await until('all four partitions', () => used.size === 4);
    const { acknowledged, failures } = await run.end();
    expect(failures).toEqual([]);
    expect((await serialsIn(topic)).sort((a, b) => a - b)).toEqual(acknowledged);
  });

  test('is deleted and made again: the new one gets what is acknowledged from then on, once and in order', async () => {
    const topic = 'made-again';
    await kafka.createTopic({ topic });
    // A restart raises the leader epoch; that of the new topic begins at 0 again.
    await kafka.restart(1);
    await using producer = await producerOf({ requestTimeoutMs: 2_000, deliveryTimeoutMs: 10_000 });
    const run = sendSteadily((serial) => producer.send({ topic, value: String(serial) }));
    await until('the first records', () => run.acknowledged.length > 20);
    await withAdmin(kafka.bootstrap, (admin) => admin.deleteTopics({ topics: [topic] }));
    await kafka.createTopic({ topic });
    const before = run.acknowledged.at(-1)!;
    await until('records in the new topic', () => run.acknowledged.at(-1)! > before + 20);
    const { acknowledged, failures } = await run.end();
    for (const failure of failures) expect(failure).toMatchObject({ name: 'DeliveryError', topic });
    const stored = await serialsIn(topic);
    expect(stored.length).toBeGreaterThan(20);
    expect(stored).toEqual(acknowledged.slice(-stored.length));
  });

  test('is deleted for good: sends fail with a typed error that says so, within seconds', async () => {
    const topic = 'gone';
    await kafka.createTopic({ topic });
    await using producer = await producerOf();
    await producer.send({ topic, value: '0' });
    await withAdmin(kafka.bootstrap, (admin) => admin.deleteTopics({ topics: [topic] }));
    await expect(producer.send({ topic, value: '1' })).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC', topic });
    await kafka.createTopic({ topic });
    expect((await producer.send({ topic, value: '2' })).offset).toBe(0n);
  });
});

describe('a producer that was idle', () => {
  /** Asks the broker itself, by Kafka's tool, until it knows no producer of the partition. */
  async function untilForgotten(topic: string): Promise<void> {
    await until('the producer is forgotten', async () => {
      return (await describedProducers(kafka, topic)) === 0;
    });
  }

  const deleteRecords = (topic: string) =>
    withAdmin(kafka.bootstrap, async (admin) => {
      await admin.fetchTopicOffsets(topic); // kafkajs deletes records of topics only that it has asked about
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '-1' }] });
    });

  test.each([
    ['the broker forgot it', true, false],
    ['its records were removed', false, true],
    ['the broker forgot it and its records were removed', true, true],
  ])('P20: %s: it goes on without an error, nothing lost or repeated', async (what, forgets, removes) => {
    const topic = `idle-${what.replaceAll(' ', '-')}`;
    await kafka.createTopic({ topic });
    await using producer = await producerOf({ producerIdExpirationMs: expirationMs });
    const send = (from: number, to: number) =>
      Promise.all(Array.from({ length: to - from }, (_, i) => producer.send({ topic, value: String(from + i) })));
    await send(0, 10);
    if (removes) await deleteRecords(topic);
    if (forgets) await untilForgotten(topic);
    const sent = await send(10, 200);
    expect(sent.map(({ offset }) => offset)).toEqual(Array.from({ length: 190 }, (_, i) => BigInt(10 + i)));
    expect(await serialsIn(topic)).toEqual(
      Array.from({ length: removes ? 190 : 200 }, (_, i) => (removes ? 10 : 0) + i),
    );
    expect(producer.stats()).toMatchObject({ recordsNotStored: 0, recordsUnknown: 0, dataLossSuspected: 0 });
  });
});
