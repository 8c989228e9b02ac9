import { Kafka, logLevel } from 'kafkajs';
import { type ChaosClient, type ClientSetup, closeInTime } from './chaos-client.ts';

export async function startKafkajs({ bootstrap, topic, requestTimeoutMs }: ClientSetup): Promise<ChaosClient> {
  const kafka = new Kafka({
    brokers: [...bootstrap],
    clientId: 'chaos',
    ...(requestTimeoutMs === undefined ? {} : { requestTimeout: requestTimeoutMs }),
    logLevel: logLevel.NOTHING,
  });
  const producer = kafka.producer({ idempotent: true });
  await producer.connect();
  return {
    send: async (partition, value) => {
      await producer.send({ topic, acks: -1, messages: [{ partition, value }] });
    },
    close: () => closeInTime(producer.disconnect()),
  };
}
