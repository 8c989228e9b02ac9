import { createProducer } from '@sendonce/producer-core';
import { createKafkaTransport } from '@sendonce/transport-kafka';
import { type ChaosClient, type ClientSetup, closeTimeoutMs, requestTimeoutMs } from './chaos-client.ts';

export async function startSendonce({ bootstrap, topic, hooks }: ClientSetup): Promise<ChaosClient> {
  const transport = createKafkaTransport({ brokers: bootstrap, clientId: 'chaos' });
  const producer = await createProducer({ transport, clientId: 'chaos', requestTimeoutMs, hooks });
  return {
    send: async (partition, value) => {
      await producer.send({ topic, partition, value });
    },
    close: () => producer.close({ timeoutMs: closeTimeoutMs }),
  };
}
