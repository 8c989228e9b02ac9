import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createProducer } from '@sendonce/producer-core';
import {
  type ConformanceCapability,
  type ConformanceEnvironment,
  type RequestMatch,
  selectConformanceCases,
} from '@sendonce/producer-core/testing';
import { platformRuntime } from '@sendonce/producer-core/transport';
import { apiKeys, type FaultKind, type KafkaBehindProxy, startKafkaBehindProxy } from '@sendonce/test-services';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createKafkaTransport } from '../src/index.ts';

/** What a proxy can do without understanding more of the protocol than where a request ends. */
const capabilities: readonly ConformanceCapability[] = [
  'lose-requests',
  'lose-replies',
  'hold-replies',
  'reset-connections',
  'count-traffic',
  'kill-brokers',
];

let cluster: KafkaBehindProxy;
let topics = 0;

beforeAll(async () => {
  cluster = await startKafkaBehindProxy({ brokers: 1, config: { 'broker.session.timeout.ms': 3_000 } });
  await untilProducerIdsAreGiven();
});
afterEach(() => {
  cluster.proxy.faults.calm();
  cluster.proxy.resetConnections();
});
afterAll(async () => {
  await cluster?.stop();
});

/** A broker that just started has no producer ids yet and says so (14); a producer asks until it has. */
async function untilProducerIdsAreGiven(): Promise<void> {
  const transport = createKafkaTransport({ brokers: [...cluster.bootstrap], clientId: 'conformance' });
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

function createEnvironment(unusedPort: number): ConformanceEnvironment {
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
    createTransport: () => createKafkaTransport({ brokers: [...cluster.bootstrap], clientId: 'conformance' }),
    createUnreachableTransport: () =>
      createKafkaTransport({ brokers: [`127.0.0.1:${unusedPort}`], clientId: 'conformance', connectionTimeoutMs: 500 }),
    createTopic: async ({ partitions, maxMessageBytes }) => {
      const topic = `conformance-${++topics}`;
      const config = maxMessageBytes === undefined ? {} : { config: { 'max.message.bytes': String(maxMessageBytes) } };
      await cluster.kafka.createTopic({ topic, partitions, replicationFactor: 1, ...config });
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
      await untilProducerIdsAreGiven();
    },
    moveLeader: cannot,
    forgetProducers: cannot,
  };
}

describe('T5: transport-kafka on a real Kafka, behind a proxy', () => {
  const { applicable, notApplicable } = selectConformanceCases(capabilities);

  test('what does not apply is what one broker behind a proxy can’t be made to do', () => {
    expect(applicable.length).toBeGreaterThan(notApplicable.length / 2);
    const lacks = new Set(notApplicable.flatMap((each) => each.lacks));
    expect([...lacks].sort()).toEqual(['answer-errors', 'forget-producers', 'move-leaders', 'several-brokers']);
  });

  test.each(applicable)('$name', async (conformanceCase) => {
    await conformanceCase.run(createEnvironment(await freePort()));
  });

  test('P21: no warning reaches a user, from connecting to closing', async () => {
    const topic = await createEnvironment(0).createTopic({ partitions: 1 });
    const program = `
      import { createProducer } from '@sendonce/producer-core';
      import { createKafkaTransport } from '@sendonce/transport-kafka';
      const transport = createKafkaTransport({ brokers: ['${cluster.bootstrap[0]}'], clientId: 'quiet' });
      const producer = await createProducer({ transport });
      const { offset } = await producer.send({ topic: '${topic}', value: 'v' });
      await producer.close();
      console.log('stored at', offset);`;
    const child = spawn(process.execPath, ['--conditions=@sendonce/source', '--input-type=module', '--eval', program], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect({ stdout, stderr }).toEqual({ stdout: 'stored at 0n\n', stderr: '' });
  });
});
