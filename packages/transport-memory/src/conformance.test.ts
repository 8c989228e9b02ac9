import { decodeRecordBatch } from '@sendonce/producer-core/record-batch';
import {
  type ConformanceApi,
  type ConformanceCapability,
  type ConformanceEnvironment,
  conformanceCases,
  createSimulatedRuntime,
  type RequestMatch,
  type SimulatedRuntime,
  selectConformanceCases,
} from '@sendonce/producer-core/testing';
import { describe, expect, it } from 'vitest';
import { createMemoryCluster } from './cluster.ts';
import type { Profile } from './profile.ts';

const capabilities: readonly ConformanceCapability[] = [
  'lose-requests',
  'lose-replies',
  'hold-replies',
  'reset-connections',
  'answer-errors',
  'count-traffic',
  'kill-brokers',
  'several-brokers',
  'move-leaders',
  'forget-producers',
];

function createEnvironment(runtime: SimulatedRuntime, profile: Profile): ConformanceEnvironment {
  const cluster = createMemoryCluster({ brokers: 3, runtime, profile });
  const requests = new Map<ConformanceApi, number>();
  let connections = 0;
  let topics = 0;
  cluster.onEvent((event) => {
    if (event.type === 'connection-opened') connections++;
    if (event.type === 'request-sent') requests.set(event.api, (requests.get(event.api) ?? 0) + 1);
  });
  const { faults } = cluster;
  return {
    capabilities: new Set(capabilities),
    runtime,
    slackMs: 1,
    createTransport: () => cluster.transport(),
    createUnreachableTransport: () => {
      const down = createMemoryCluster({ runtime });
      down.broker(1).kill();
      return down.transport();
    },
    createTopic: async ({ partitions, replicationFactor = 1, maxMessageBytes }) => {
      const topic = `topic-${++topics}`;
      cluster.createTopic(topic, {
        partitions,
        replicationFactor,
        ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
      });
      return topic;
    },
    readPartition: async (topic, partition) =>
      cluster
        .partition(topic, partition)
        .batches()
        .flatMap((batch) => decodeRecordBatch(batch).records),
    faults: {
      loseRequests: (match: RequestMatch) => void faults.loseRequest(match),
      loseReplies: (match) => void faults.loseReply(match),
      holdReplies: (match) => faults.holdReplies(match),
      resetOnRequest: (match) => void faults.resetConnection(match, 'before'),
      resetOnReply: (match) => void faults.resetConnection(match, 'after'),
      answer: (match, { errorCode, carriedOut, logStartOffset = -1n }) =>
        void faults.answerWith(errorCode, match, { when: carriedOut ? 'after' : 'before', logStartOffset }),
      requestsSeen: (api) => requests.get(api) ?? 0,
      connectionsOpened: () => connections,
      clear: () => faults.clear(),
    },
    killBroker: async (brokerId) => cluster.broker(brokerId).kill(),
    restartBroker: async (brokerId) => cluster.broker(brokerId).restart(),
    moveLeader: async (topic, partition) => cluster.partition(topic, partition).moveLeader(),
    forgetProducers: async (topic, partition) => cluster.partition(topic, partition).forgetProducers(),
  };
}

it('T5: every case of the suite applies to the memory broker', () => {
  expect(selectConformanceCases(capabilities).notApplicable).toEqual([]);
});

describe.each(['tutorial', 'kafka-4'] as const)('profile %s', (profile) => {
  it.each(conformanceCases)('$name', async (conformanceCase) => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    await runtime.runUntilSettled(conformanceCase.run(createEnvironment(runtime, profile)));
  });
});
