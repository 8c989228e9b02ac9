import { createProducer } from '@sendonce/producer-core';
import { createKafkaTransport } from '@sendonce/transport-kafka';
import { type ChaosClient, type ClientSetup, closeTimeoutMs } from './chaos-client.ts';

export async function startSendonce({ bootstrap, topic, requestTimeoutMs, hooks }: ClientSetup): Promise<ChaosClient> {
  const producer = await createProducer({
    transport: createKafkaTransport({ brokers: bootstrap, clientId: 'chaos' }),
    clientId: 'chaos',
    logger: { info: () => {}, warn: console.error },
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    ...(hooks === undefined ? {} : { hooks }),
  });
  return {
    send: async (partition, value) => {
      await producer.send({ topic, partition, value });
    },
    close: () => producer.close({ timeoutMs: closeTimeoutMs }),
  };
}
