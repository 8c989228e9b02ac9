import { createKafkaClient, setLogger } from 'kafka-ts';
import { type ChaosClient, type ClientSetup, closeInTime } from './chaos-client.ts';

export async function startKafkaTs({ bootstrap, topic, requestTimeoutMs }: ClientSetup): Promise<ChaosClient> {
  const quiet = () => {};
  setLogger({ debug: quiet, info: quiet, warn: quiet, error: quiet });
  const bootstrapServers = bootstrap.map((address) => {
    const [host = '', port] = address.split(':');
    return { host, port: Number(port) };
  });
  const producer = createKafkaClient({
    clientId: 'chaos',
    bootstrapServers,
    ...(requestTimeoutMs === undefined ? {} : { requestTimeout: requestTimeoutMs }),
  }).createProducer({});
  return {
    send: (partition, value) => producer.send([{ topic, partition, value }]),
    close: () => closeInTime(producer.close()),
  };
}
