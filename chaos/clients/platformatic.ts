import { Producer, stringSerializers } from '@platformatic/kafka';
import { type ChaosClient, type ClientSetup, closeInTime } from './chaos-client.ts';

export async function startPlatformatic({ bootstrap, topic, requestTimeoutMs }: ClientSetup): Promise<ChaosClient> {
  const producer = new Producer({
    clientId: 'chaos',
    bootstrapBrokers: [...bootstrap],
    idempotent: true,
    acks: -1,
    ...(requestTimeoutMs === undefined ? {} : { requestTimeout: requestTimeoutMs }),
    serializers: stringSerializers,
  });
  return {
    send: async (partition, value) => {
      await producer.send({ messages: [{ topic, partition, value }] });
    },
    close: () => closeInTime(producer.close(true)),
  };
}
