import { Producer, stringSerializers } from '@platformatic/kafka';
import { type ChaosClient, type ClientSetup, closeInTime, requestTimeoutMs } from './chaos-client.ts';

export async function startPlatformatic({ bootstrap, topic }: ClientSetup): Promise<ChaosClient> {
  const producer = new Producer({
    clientId: 'chaos',
    bootstrapBrokers: [...bootstrap],
    idempotent: true,
    acks: -1,
    requestTimeout: requestTimeoutMs,
    serializers: stringSerializers,
  });
  return {
    send: async (partition, value) => {
      await producer.send({ messages: [{ topic, partition, value }] });
    },
    close: () => closeInTime(producer.close(true)),
  };
}
