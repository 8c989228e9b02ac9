import { createHash } from 'node:crypto';
import { createProducer, type ProducerOptions } from '@sendonce/producer-core';
import { platformRuntime } from '@sendonce/producer-core/transport';
import { apiKeys, type KafkaBehindProxy, startKafkaBehindProxy } from '@sendonce/test-services';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKafkaTransport } from '../src/index.ts';

// What a broker refuses or holds back: records and batches over the topic's limit, and clients over their quota.

let cluster: KafkaBehindProxy;

beforeAll(async () => {
  // A quota is an average over windows: eleven by default, which let a test wait for long.
  cluster = await startKafkaBehindProxy({ config: { 'quota.window.num': 2 } });
});
afterAll(() => cluster?.stop());

const maxMessageBytes = 10_000;

/** Bytes that no codec makes smaller, the same ones for the same name. */
function incompressible(name: string, length: number): string {
  let text = `${name}:`;
  for (let i = 0; text.length < length; i++) text += createHash('sha256').update(`${name} ${i}`).digest('base64');
  return text.slice(0, length);
}

function producerOf(clientId: string, options: Partial<ProducerOptions> = {}) {
  return createProducer({
    transport: createKafkaTransport({ brokers: cluster.bootstrap, clientId }),
    clientId,
    ...options,
  });
}

async function topicWithLimit(topic: string): Promise<void> {
  await cluster.kafka.createTopic({ topic, config: { 'max.message.bytes': maxMessageBytes } });
}

const valuesOf = async (topic: string) => (await cluster.kafka.readAll(topic)).map(({ value }) => String(value));

describe('max.message.bytes, lower than the producer’s maxRequestSize', () => {
  test('C11: a record too large for the broker fails as certainly not stored, its neighbours are stored in order', async () => {
    const topic = 'one-too-large';
    await topicWithLimit(topic);
    await using producer = await producerOf('too-large');
    const small = (name: string) => `${name} is small`;
    const sends = ['a', 'b', 'TOO LARGE', 'c', 'd'].map((name) =>
      producer.send({ topic, value: name === 'TOO LARGE' ? incompressible(name, 15_000) : small(name) }),
    );
    const outcomes = await Promise.allSettled(sends);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    const refusal = (outcomes[2] as PromiseRejectedResult).reason as Error;
    expect(refusal).toMatchObject({ name: 'RecordTooLargeError', code: 'RECORD_TOO_LARGE', fate: 'not-stored', topic });
    expect(refusal.message).toContain('max.message.bytes');
    await producer.send({ topic, value: small('e') });
    expect(await valuesOf(topic)).toEqual(['a', 'b', 'c', 'd', 'e'].map(small));
  });

  test.each(['none', 'gzip'] as const)(
    'C11: a batch over the limit is split down until the broker takes it, in order, each record once (%s)',
    async (compression) => {
      const topic = `split-${compression}`;
      await topicWithLimit(topic);
      await using producer = await producerOf('split', { compression });
      const values = Array.from({ length: 100 }, (_, i) => incompressible(`record ${i}`, 1_500));
      const sent = await producer.sendBatch(values.map((value) => ({ topic, value })));
      expect(producer.stats().splits).toBeGreaterThan(5);
      expect(sent.map(({ offset }) => offset)).toEqual(values.map((_, i) => BigInt(i)));
      expect(await valuesOf(topic)).toEqual(values);
    },
  );
});

describe('a client quota', () => {
  test('KIP-219: a throttled producer keeps to the rate without a retry, a lost request or another connection', async () => {
    const topic = 'throttled';
    const bytesPerSecond = 120_000;
    await cluster.kafka.createTopic({ topic });
    await cluster.kafka.runTool('kafka.admin.ConfigCommand', [
      '--bootstrap-server',
      cluster.kafka.bootstrap[0]!,
      '--alter',
      '--add-config',
      `producer_byte_rate=${bytesPerSecond}`,
      '--entity-type',
      'clients',
      '--entity-name',
      'over-quota',
    ]);
    const values = Array.from({ length: 32 }, (_, i) => incompressible(`record ${i}`, 20_000));
    const requestsSeen = () => cluster.proxy.faults.requestsSeen(apiKeys.produce);
    const sendAll = async (clientId: string) => {
      /** Replies after which the next request did not leave at once, although it was there. */
      let holds = 0;
      const onAttemptEnded = () => {
        const seen = requestsSeen();
        setTimeout(() => {
          if (requestsSeen() === seen) holds++;
        }, 60);
      };
      await using producer = await producerOf(clientId, {
        batchSize: 25_000,
        maxInFlight: 1,
        hooks: { onAttemptEnded },
      });
      const startMs = performance.now();
      const connections = cluster.proxy.connectionsOpened;
      await Promise.all(values.map((value) => producer.send({ topic, value })));
      const tookMs = performance.now() - startMs;
      return { tookMs, holds, connections: cluster.proxy.connectionsOpened - connections, stats: producer.stats() };
    };
    const free = await sendAll('under-no-quota');
    const throttled = await sendAll('over-quota');
    expect(throttled.stats).toMatchObject({ retries: 0, attemptsLost: 0, recordsAcknowledged: values.length });
    // One for produce requests; the rest has its own already.
    expect(throttled.connections).toBe(1);
    // The broker says for how long (throttle_time_ms), and until then nothing is sent into its closed ear.
    expect(throttled.holds).toBeGreaterThan(values.length / 4);
    // Windows in which nothing was sent count too, so the first bytes are free.
    expect(throttled.tookMs).toBeGreaterThan(free.tookMs + 2_000);
    expect(await valuesOf(topic)).toEqual([...values, ...values]);
  });
});

describe('a wall clock that jumps', () => {
  test('ahead: the broker refuses the timestamps, with a typed error; back: nothing is lost or repeated', async () => {
    const topic = 'jumping-clock';
    await cluster.kafka.createTopic({ topic });
    let jumpMs = 0;
    await using producer = await producerOf('jumping-clock', {
      // Only what is called the time of day jumps, as when an administrator or NTP sets it.
      runtime: { ...platformRuntime, wallClockMs: () => platformRuntime.wallClockMs() + jumpMs },
      logger: { info: () => {}, warn: () => {} },
    });
    const startMs = performance.now();
    await producer.send({ topic, value: '0' });
    jumpMs = 2 * 86_400_000;
    await expect(producer.send({ topic, value: 'from the future' })).rejects.toMatchObject({
      name: 'DeliveryError',
      fate: 'not-stored',
      message: expect.stringContaining('INVALID_TIMESTAMP'),
    });
    jumpMs = 0;
    await producer.send({ topic, value: '1' });
    jumpMs = -2 * 86_400_000;
    await producer.send({ topic, value: '2' });
    jumpMs = 0;
    await producer.send({ topic, value: '3' });
    expect(performance.now() - startMs).toBeLessThan(5_000);
    expect(await valuesOf(topic)).toEqual(['0', '1', '2', '3']);
    expect(producer.stats()).toMatchObject({ recordsNotStored: 1, recordsUnknown: 0, dataLossSuspected: 0 });
  });
});
