import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { selectConformanceCases } from '@sendonce/producer-core/testing';
import { type KafkaBehindProxy, startKafkaBehindProxy } from '@sendonce/test-services';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  oneBrokerCapabilities,
  runConformanceCase,
  untilProducerIdsAreGiven,
} from './conformance-environment.testkit.ts';

let cluster: KafkaBehindProxy;

beforeAll(async () => {
  cluster = await startKafkaBehindProxy({ brokers: 1, config: { 'broker.session.timeout.ms': 3_000 } });
  await untilProducerIdsAreGiven(cluster);
});
afterEach(() => {
  cluster.proxy.faults.calm();
  cluster.proxy.resetConnections();
});
afterAll(async () => {
  await cluster?.stop();
});

describe('T5: transport-kafka on a real Kafka, behind a proxy', () => {
  const { applicable, notApplicable } = selectConformanceCases(oneBrokerCapabilities);

  test('what does not apply is what one broker behind a proxy can’t be made to do', () => {
    expect(applicable.length).toBeGreaterThan(notApplicable.length / 2);
    const lacks = new Set(notApplicable.flatMap((each) => each.lacks));
    expect([...lacks].sort()).toEqual(['answer-errors', 'forget-producers', 'move-leaders', 'several-brokers']);
  });

  test.each(applicable)('$name', async (conformanceCase) => {
    await runConformanceCase(conformanceCase, cluster);
  });

  test('P21: no warning reaches a user, from connecting to closing', async () => {
    const topic = 'quiet';
    await cluster.kafka.createTopic({ topic });
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
