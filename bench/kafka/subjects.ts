import { Producer, stringSerializers } from '@platformatic/kafka';
import { createProducer } from '@sendonce/producer-core';
import { createKafkaTransport } from '@sendonce/transport-kafka';
import { createKafkaClient } from 'kafka-ts';
import { Kafka, logLevel } from 'kafkajs';
import type { Subject } from './load.ts';

export interface SubjectSetup {
  readonly bootstrap: string;
  readonly topic: string;
  readonly value: string;
}

async function sendonce({ bootstrap, topic, value }: SubjectSetup): Promise<Subject> {
  const producer = await createProducer({
    transport: createKafkaTransport({ brokers: [bootstrap], clientId: 'bench' }),
    logger: { info: () => {}, warn: console.error },
  });
  const record = { topic, value };
  return {
    send: () => producer.send(record),
    enqueue: () => (producer.enqueue(record) ? undefined : producer.ready()),
    acknowledged: () => producer.stats().recordsAcknowledged,
    flush: () => producer.flush(),
    close: () => producer.close(),
  };
}

async function kafkajs({ bootstrap, topic, value }: SubjectSetup): Promise<Subject> {
  const producer = new Kafka({ brokers: [bootstrap], clientId: 'bench', logLevel: logLevel.NOTHING }).producer({
    idempotent: true,
  });
  await producer.connect();
  return { send: () => producer.send({ topic, acks: -1, messages: [{ value }] }), close: () => producer.disconnect() };
}

async function kafkaTs({ bootstrap, topic, value }: SubjectSetup): Promise<Subject> {
  const [host = '', port] = bootstrap.split(':');
  const producer = createKafkaClient({
    clientId: 'bench',
    bootstrapServers: [{ host, port: Number(port) }],
  }).createProducer({});
  return { send: () => producer.send([{ topic, value }]), close: () => producer.close() };
}

async function platformatic({ bootstrap, topic, value }: SubjectSetup): Promise<Subject> {
  const producer = new Producer({
    clientId: 'bench',
    bootstrapBrokers: [bootstrap],
    idempotent: true,
    acks: -1,
    serializers: stringSerializers,
  });
  return { send: () => producer.send({ messages: [{ topic, value }] }), close: () => producer.close(true) };
}

export const subjects: Readonly<Record<string, (setup: SubjectSetup) => Promise<Subject>>> = {
  sendonce,
  'kafka-ts': kafkaTs,
  kafkajs,
  platformatic,
};
