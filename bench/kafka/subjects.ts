import { Producer, stringSerializers } from '@platformatic/kafka';
import { createProducer } from '@sendonce/producer-core';
import { createKafkaTransport } from '@sendonce/transport-kafka';
import { createKafkaClient } from 'kafka-ts';
import { Kafka, logLevel } from 'kafkajs';
import type { Subject } from './load.ts';
import { recordsOf } from './records.ts';

/** What one client gets, as JSON. */
export interface SubjectSetup {
  readonly bootstrap: readonly string[];
  readonly topic: string;
  readonly valueBytes: number;
  /** Records have keys when there are several partitions. */
  readonly partitions: number;
  readonly compression?: 'zstd' | 'lz4' | undefined;
  /** PEM of the authority, for TLS. */
  readonly ca?: string | undefined;
}

async function sendonce(setup: SubjectSetup): Promise<Subject> {
  const { bootstrap, ca, compression } = setup;
  const next = recordsOf(setup);
  const producer = await createProducer({
    transport: createKafkaTransport({
      brokers: bootstrap,
      clientId: 'bench',
      ...(ca === undefined ? {} : { ssl: { ca } }),
    }),
    logger: { info: () => {}, warn: console.error },
    ...(compression === undefined ? {} : { compression }),
  });
  return {
    send: () => producer.send(next()),
    enqueue: () => (producer.enqueue(next()) ? undefined : producer.ready()),
    acknowledged: () => producer.stats().recordsAcknowledged,
    flush: () => producer.flush(),
    close: () => producer.close(),
  };
}

async function kafkajs(setup: SubjectSetup): Promise<Subject> {
  const { bootstrap, topic, ca } = setup;
  const next = recordsOf(setup);
  const producer = new Kafka({
    brokers: [...bootstrap],
    clientId: 'bench',
    logLevel: logLevel.NOTHING,
    ...(ca === undefined ? {} : { ssl: { ca } }),
  }).producer({ idempotent: true });
  await producer.connect();
  return { send: () => producer.send({ topic, acks: -1, messages: [next()] }), close: () => producer.disconnect() };
}

async function kafkaTs(setup: SubjectSetup): Promise<Subject> {
  const { bootstrap, ca } = setup;
  const next = recordsOf(setup);
  const producer = createKafkaClient({
    clientId: 'bench',
    bootstrapServers: bootstrap.map((address) => {
      const [host = '', port] = address.split(':');
      return { host, port: Number(port) };
    }),
    ...(ca === undefined ? {} : { ssl: { ca } }),
  }).createProducer({});
  return { send: () => producer.send([next()]), close: () => producer.close() };
}

async function platformatic(setup: SubjectSetup): Promise<Subject> {
  const { bootstrap, ca } = setup;
  const next = recordsOf(setup);
  const producer = new Producer({
    clientId: 'bench',
    bootstrapBrokers: [...bootstrap],
    idempotent: true,
    acks: -1,
    serializers: stringSerializers,
    ...(ca === undefined ? {} : { tls: { ca } }),
  });
  return { send: () => producer.send({ messages: [next()] }), close: () => producer.close(true) };
}

export const subjects: Readonly<Record<string, (setup: SubjectSetup) => Promise<Subject>>> = {
  sendonce,
  'kafka-ts': kafkaTs,
  kafkajs,
  platformatic,
};
