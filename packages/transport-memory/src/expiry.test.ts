import { describe, expect, it } from 'vitest';
import { simulateCluster } from './simulated-cluster.testkit.ts';

const expiry = { producerIdExpirationMs: 10_000, producerIdExpirationCheckMs: 4_000 };

describe('M5: tutorial', () => {
  it('forgets a producer the moment it was idle for long enough', async () => {
    const { runtime, produce, eventsOf } = simulateCluster(expiry);
    await produce({ producerId: 1, baseSequence: 0, timestampMs: 0 });
    await runtime.advance(9_999);
    expect(await produce({ producerId: 1, baseSequence: 0, timestampMs: 0 })).toMatchObject({ baseOffset: 0n });
    await runtime.advance(1);
    expect(await produce({ producerId: 1, baseSequence: 1 })).toMatchObject({ errorCode: 59 });
    expect(eventsOf('producer-forgotten')).toMatchObject([{ producerId: 1n, reason: 'idle' }]);
    expect(await produce({ producerId: 1, baseSequence: 0 })).toMatchObject({ errorCode: 0, baseOffset: 1n });
  });

  it('a repeat does not keep it alive: nothing was written', async () => {
    const { runtime, produce } = simulateCluster(expiry);
    await produce({ producerId: 1 });
    await runtime.advance(6_000);
    expect(await produce({ producerId: 1 })).toMatchObject({ baseOffset: 0n });
    await runtime.advance(6_000);
    expect(await produce({ producerId: 1, baseSequence: 1 })).toMatchObject({ errorCode: 59 });
  });

  it('forgets a producer when its last batch is deleted', async () => {
    const { cluster, produce, eventsOf } = simulateCluster();
    await produce({ producerId: 1, baseSequence: 0 });
    await produce({ producerId: 2, baseSequence: 0 });
    cluster.partition('payments', 0).deleteRecordsBefore(1);
    expect(eventsOf('producer-forgotten')).toMatchObject([{ producerId: 1n, reason: 'retention' }]);
    expect(await produce({ producerId: 1, baseSequence: 1 })).toMatchObject({ errorCode: 59, logStartOffset: 1n });
    expect(await produce({ producerId: 2, baseSequence: 1 })).toMatchObject({ errorCode: 0, logStartOffset: 1n });
  });
});

describe('M5: kafka-4', () => {
  const kafka4 = { ...expiry, profile: 'kafka-4' } as const;

  it('forgets at the next check a producer whose records are old, however lately they came', async () => {
    const { runtime, produce, eventsOf } = simulateCluster(kafka4);
    await produce({ producerId: 1, timestampMs: Date.UTC(2023, 0, 1) });
    await runtime.advance(3_999);
    expect(await produce({ producerId: 1 })).toMatchObject({ baseOffset: 0n });
    await runtime.advance(1);
    expect(await produce({ producerId: 1 })).toMatchObject({ errorCode: 0, baseOffset: 1n });
    expect(eventsOf('producer-forgotten')).toMatchObject([{ producerId: 1n, reason: 'idle' }]);
  });

  it('keeps one whose records are dated ahead', async () => {
    const { runtime, produce } = simulateCluster(kafka4);
    await produce({ producerId: 1, timestampMs: runtime.wallClockMs() + 3_600_000 });
    await runtime.advance(3_600_000);
    expect(await produce({ producerId: 1 })).toMatchObject({ baseOffset: 0n });
  });

  it('keeps one that is idle beyond the time until the next check', async () => {
    const { runtime, cluster } = simulateCluster(kafka4);
    const { produceOne } = await import('./batches.testkit.ts');
    const transport = cluster.transport();
    const timestampMs = runtime.wallClockMs();
    await runtime.runUntilSettled(produceOne(transport, { producerId: 1, timestampMs }));
    await runtime.advance(11_999);
    expect(await runtime.runUntilSettled(produceOne(transport, { producerId: 1 }))).toMatchObject({ baseOffset: 0n });
    await runtime.advance(1);
    expect(await runtime.runUntilSettled(produceOne(transport, { producerId: 1 }))).toMatchObject({ baseOffset: 1n });
  });

  it('keeps a producer whose records are deleted', async () => {
    const { cluster, produce } = simulateCluster(kafka4);
    await produce({ producerId: 1 });
    cluster.partition('payments', 0).deleteRecordsBefore(1);
    expect(await produce({ producerId: 1 })).toMatchObject({ errorCode: 0, baseOffset: 0n, logStartOffset: 1n });
  });
});

it('M5: retention drops whole old segments, on every replica', async () => {
  const { runtime, cluster, produce } = simulateCluster({
    brokers: 2,
    topics: { payments: { replicationFactor: 2, segmentBytes: 250, retentionBytes: 400 } },
  });
  for (let n = 0; n < 20; n++) await produce({ producerId: 1, baseSequence: n });
  const partition = cluster.partition('payments', 0);
  expect(partition.logStartOffset).toBe(12);
  for (const broker of [1, 2]) expect(partition.log(broker)[0]?.baseOffset).toBe(12);

  const aged = simulateCluster({ topics: { payments: { segmentBytes: 250, retentionMs: 1_000 } } });
  for (let n = 0; n < 9; n++)
    await aged.produce({ producerId: 1, baseSequence: n, timestampMs: runtime.wallClockMs() });
  await aged.runtime.advance(1_001);
  aged.cluster.partition('payments', 0).enforceRetention();
  expect(aged.cluster.partition('payments', 0).logStartOffset).toBe(6);
});
