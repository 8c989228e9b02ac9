import { createProducer, type DeliveryError } from '@sendonce/producer-core';
import { decodeRecordBatch } from '@sendonce/producer-core/record-batch';
import { createSimulatedRuntime } from '@sendonce/producer-core/testing';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { expect, test } from 'vitest';

test('P12: two of three brokers frozen for 45 s, again and again, with a delivery timeout of 30 s', async () => {
  const runtime = createSimulatedRuntime({ seed: 12 });
  const cluster = createMemoryCluster({
    brokers: 3,
    profile: 'kafka-4',
    runtime,
    latencyMs: { minMs: 1, maxMs: 10 },
    topics: { payments: { partitions: 1, replicationFactor: 3, minInsyncReplicas: 2 } },
  });
  const creating = createProducer({
    transport: cluster.transport(),
    runtime,
    requestTimeoutMs: 10_000,
    deliveryTimeoutMs: 30_000,
    logger: { info: () => {}, warn: () => {} },
  });
  await runtime.advance(1_000);
  const producer = await creating;

  const outcomes: (bigint | DeliveryError['fate'])[] = [];
  let sent = 0;
  const sendForAWhile = async (ms: number): Promise<void> => {
    for (let elapsed = 0; elapsed < ms; elapsed += 500) {
      const index = sent++;
      producer.send({ topic: 'payments', value: String(index) }).then(
        ({ offset }) => {
          outcomes[index] = offset;
        },
        (error: DeliveryError) => {
          outcomes[index] = error.fate;
        },
      );
      await runtime.advance(500);
    }
  };
  for (let round = 0; round < 6; round++) {
    await sendForAWhile(15_000);
    const frozen = [1 + (round % 3), 1 + ((round + 1) % 3)];
    for (const brokerId of frozen) cluster.broker(brokerId).pause();
    await sendForAWhile(45_000);
    for (const brokerId of frozen) cluster.broker(brokerId).resume();
  }
  await runtime.advance(60_000);

  const stored = cluster
    .partition('payments', 0)
    .batches()
    .flatMap((batch) => decodeRecordBatch(batch).records)
    .map(({ offset, value }) => ({ offset, index: Number(String(value)) }));
  const timesStored = new Map<number, number>();
  for (const { index } of stored) timesStored.set(index, (timesStored.get(index) ?? 0) + 1);

  expect(Object.keys(outcomes)).toHaveLength(sent);
  const acknowledged = outcomes.flatMap((outcome, index) => (typeof outcome === 'bigint' ? [index] : []));
  expect(acknowledged.length).toBeGreaterThan(100);
  expect(acknowledged.length).toBeLessThan(sent);
  for (const [index, outcome] of outcomes.entries()) {
    const times = timesStored.get(index) ?? 0;
    if (typeof outcome === 'bigint') {
      expect(times).toBe(1);
      if (outcome >= 0n) expect(stored.find((record) => record.index === index)?.offset).toBe(outcome);
    } else if (outcome === 'not-stored') expect(times).toBe(0);
    else expect(times).toBeLessThanOrEqual(1);
  }
  const order = stored.map(({ index }) => index).filter((index) => typeof outcomes[index] === 'bigint');
  expect(order).toEqual(acknowledged);

  const closing = producer.close();
  await runtime.advance(1_000);
  await closing;
});
