import { createServer } from 'node:net';
import { createProducer } from '@sendonce/producer-core';
import type {
  ConformanceCapability,
  ConformanceCase,
  ConformanceEnvironment,
  RequestMatch,
} from '@sendonce/producer-core/testing';
import { platformRuntime } from '@sendonce/producer-core/transport';
import { apiKeys, type FaultKind, type KafkaBehindProxy } from '@sendonce/test-services';
import { createKafkaTransport } from '../src/index.ts';
import { moveLeader } from './leaders.testkit.ts';

/** What a proxy can do to one broker without understanding more of the protocol than where a request ends. */
export const oneBrokerCapabilities: readonly ConformanceCapability[] = [
  'lose-requests',
  'lose-replies',
  'hold-replies',
  'reset-connections',
  'count-traffic',
  'kill-brokers',
];

/** A broker that just started has no producer ids yet and says so (14); a producer asks until it has. */
export async function untilProducerIdsAreGiven(cluster: KafkaBehindProxy): Promise<void> {
  const transport = createKafkaTransport({ brokers: cluster.bootstrap, clientId: 'conformance' });
  await (await createProducer({ transport })).close();
}

/** A port on loopback where nobody listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

let topics = 0;

export async function runConformanceCase(
  conformanceCase: ConformanceCase,
  cluster: KafkaBehindProxy,
  capabilities: readonly ConformanceCapability[] = oneBrokerCapabilities,
): Promise<void> {
  await conformanceCase.run(createEnvironment(cluster, capabilities, await freePort()));
}

function createEnvironment(
  cluster: KafkaBehindProxy,
  capabilities: readonly ConformanceCapability[],
  unusedPort: number,
): ConformanceEnvironment {
  const order = (kind: FaultKind, { api, times }: RequestMatch): void => {
    cluster.proxy.faults.order(kind, { apiKey: apiKeys[api], times });
  };
  const cannot = (): never => {
    throw new Error('This environment does not have that capability');
  };
  return {
    capabilities: new Set(capabilities),
    runtime: platformRuntime,
    slackMs: 5_000,
    createTransport: () => createKafkaTransport({ brokers: cluster.bootstrap, clientId: 'conformance' }),
    createUnreachableTransport: () =>
      createKafkaTransport({ brokers: [`127.0.0.1:${unusedPort}`], clientId: 'conformance', connectionTimeoutMs: 500 }),
    createTopic: async ({ partitions, replicationFactor = 1, maxMessageBytes }) => {
      const topic = `conformance-${++topics}`;
      const config = maxMessageBytes === undefined ? {} : { config: { 'max.message.bytes': String(maxMessageBytes) } };
      await cluster.kafka.createTopic({ topic, partitions, replicationFactor, ...config });
      return topic;
    },
    readPartition: async (topic, partition) =>
      (await cluster.kafka.readAll(topic))
        .filter((record) => record.partition === partition)
        .map(({ offset, key, value }) => ({ offset: BigInt(offset), key, value })),
    faults: {
      loseRequests: (match) => order('lose-request', match),
      loseReplies: (match) => order('lose-reply', match),
      holdReplies: ({ api, times }) => cluster.proxy.faults.hold({ apiKey: apiKeys[api], times }),
      resetOnRequest: (match) => order('reset-in-request', match),
      resetOnReply: (match) => order('reset-after-request', match),
      answer: cannot,
      requestsSeen: (api) => cluster.proxy.faults.requestsSeen(apiKeys[api]),
      connectionsOpened: () => cluster.proxy.connectionsOpened,
      clear: () => cluster.proxy.faults.calm(),
    },
    killBroker: (brokerId) => cluster.kafka.kill(brokerId),
    restartBroker: async (brokerId) => {
      await cluster.kafka.restart(brokerId);
      await untilProducerIdsAreGiven(cluster);
    },
    moveLeader: async (topic, partition) => void (await moveLeader(cluster.kafka, topic, partition)),
    forgetProducers: cannot,
  };
}
