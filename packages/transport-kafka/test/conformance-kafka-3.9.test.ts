import { selectConformanceCases } from '@sendonce/producer-core/testing';
import { type KafkaBehindProxy, startKafkaBehindProxy } from '@sendonce/test-services';
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest';
import {
  oneBrokerCapabilities,
  runConformanceCase,
  untilProducerIdsAreGiven,
} from './conformance-environment.testkit.ts';

let cluster: KafkaBehindProxy;

beforeAll(async () => {
  cluster = await startKafkaBehindProxy({ version: '3.9.1', config: { 'broker.session.timeout.ms': 3_000 } });
  await untilProducerIdsAreGiven(cluster);
});
afterEach(() => {
  cluster.proxy.faults.calm();
  cluster.proxy.resetConnections();
});
afterAll(() => cluster?.stop());

describe('T5: transport-kafka on Kafka 3.9, the last with ZooKeeper’s rules beside it', () => {
  const { applicable } = selectConformanceCases(oneBrokerCapabilities);

  test.each(applicable)('$name', (conformanceCase) => runConformanceCase(conformanceCase, cluster));
});
