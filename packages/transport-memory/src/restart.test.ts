import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SimulatedCluster, simulateCluster } from './simulated-cluster.testkit.ts';

/** Small enough that every third batch begins a segment, and with it a snapshot. */
const smallSegments = { topics: { payments: { segmentBytes: 250 } } } as const;

async function fill({ produce }: SimulatedCluster, batches: number): Promise<void> {
  for (let n = 0; n < batches; n++) await produce({ producerId: 1 + (n % 3), baseSequence: Math.floor(n / 3) });
}

describe('M4: the log keeps what was sent', () => {
  it('header and records as they came, with their place written in', async () => {
    const { cluster, runtime, transport } = simulateCluster({ topics: { payments: { firstOffset: 7 } } });
    const { batchOf } = await import('./batches.testkit.ts');
    const sent = batchOf({ producerId: 5, epoch: 2, baseSequence: 0, count: 3 });
    const partitions = [{ topic: 'payments', partition: 0, batch: sent }];
    await runtime.runUntilSettled(transport.produce(1, { acks: 'all', timeoutMs: 1_000, partitions }));
    const [stored] = cluster.partition('payments', 0).batches();
    const expected = Buffer.from(sent);
    expected.writeBigInt64BE(7n, 0);
    expected.writeInt32BE(0, 12);
    expect(stored).toEqual(expected);
  });

  it('the sender’s buffer is neither changed nor kept', async () => {
    const { cluster, runtime, transport } = simulateCluster();
    const { batchOf } = await import('./batches.testkit.ts');
    const sent = batchOf({ producerId: 5 });
    const before = Buffer.from(sent);
    const partitions = [{ topic: 'payments', partition: 0, batch: sent }];
    await runtime.runUntilSettled(transport.produce(1, { acks: 'all', timeoutMs: 1_000, partitions }));
    expect(sent).toEqual(before);
    sent.fill(0);
    expect(cluster.dump('payments', 0)).toMatchObject([{ producerId: 5n, isvalid: true }]);
  });

  it('except that a client can’t say that the broker’s clock was used', async () => {
    const { cluster, runtime, transport } = simulateCluster();
    const { batchOf } = await import('./batches.testkit.ts');
    const { headerAt, readBatchHeader, writeBatchCrc } = await import('@sendonce/producer-core/record-batch');
    const batch = batchOf({ producerId: 1 });
    batch.writeInt16BE(8, headerAt.attributes);
    writeBatchCrc(batch, batch.length);
    const partitions = [{ topic: 'payments', partition: 0, batch }];
    await runtime.runUntilSettled(transport.produce(1, { acks: 'all', timeoutMs: 1_000, partitions }));
    const [stored] = cluster.partition('payments', 0).batches();
    expect(readBatchHeader(stored!).timestampType).toBe('CreateTime');
    expect(cluster.dump('payments', 0)).toMatchObject([{ isvalid: true }]);
  });

  it('a LogAppendTime topic writes its own clock, and the checksum fits', async () => {
    const { cluster, runtime, produce } = simulateCluster({ topics: { payments: { timestampType: 'LogAppendTime' } } });
    await runtime.advance(1_234);
    const atMs = runtime.wallClockMs();
    expect(await produce({ producerId: 1, timestampMs: 5 })).toMatchObject({ logAppendTimeMs: atMs });
    expect(cluster.dump('payments', 0)).toMatchObject([{ createTime: atMs, isvalid: true }]);
    await runtime.advance(1_000);
    expect(await produce({ producerId: 1, timestampMs: 5 })).toMatchObject({ errorCode: 0, logAppendTimeMs: atMs });
  });
});

describe('M4: after a restart', () => {
  it('a snapshot is there for each segment that began', async () => {
    const simulated = simulateCluster(smallSegments);
    await fill(simulated, 10);
    expect(simulated.cluster.partition('payments', 0).snapshots()).toEqual([3, 6, 9]);
  });

  it.each([
    ['a clean stop', (s: SimulatedCluster) => s.cluster.broker(1).restart()],
    [
      'SIGKILL',
      (s: SimulatedCluster) => {
        s.cluster.broker(1).kill();
        s.cluster.broker(1).restart();
      },
    ],
    [
      'SIGKILL and the loss of the snapshots',
      (s: SimulatedCluster) => {
        s.cluster.partition('payments', 0).loseSnapshots();
        s.cluster.broker(1).kill();
        s.cluster.broker(1).restart();
      },
    ],
    [
      'SIGKILL and damage to the snapshots',
      (s: SimulatedCluster) => {
        s.cluster.partition('payments', 0).damageSnapshots();
        s.cluster.broker(1).kill();
        s.cluster.broker(1).restart();
      },
    ],
  ])('tutorial: the same is known after %s', async (_, restart) => {
    const simulated = simulateCluster(smallSegments);
    await fill(simulated, 20);
    const partition = simulated.cluster.partition('payments', 0);
    const before = partition.producerState();
    restart(simulated);
    expect(sorted(partition.producerState())).toEqual(sorted(before));
    expect(sorted(partition.rebuiltProducerState())).toEqual(sorted(before));
    expect(before.map(({ batches }) => batches.length)).toEqual([5, 5, 5]);
  });

  it('tutorial: batches that were deleted are not known again from a snapshot', async () => {
    const simulated = simulateCluster(smallSegments);
    for (let n = 0; n < 7; n++) await simulated.produce({ producerId: 1, baseSequence: n });
    const partition = simulated.cluster.partition('payments', 0);
    partition.deleteRecordsBefore(5);
    simulated.cluster.broker(1).kill();
    simulated.cluster.broker(1).restart();
    expect(partition.producerState()[0]?.batches.map(({ baseSequence }) => baseSequence)).toEqual([5, 6]);
  });

  it('a damaged snapshot is noticed, reported and not used', async () => {
    const simulated = simulateCluster(smallSegments);
    await fill(simulated, 10);
    const partition = simulated.cluster.partition('payments', 0);
    partition.damageSnapshots();
    simulated.cluster.broker(1).kill();
    simulated.cluster.broker(1).restart();
    expect(simulated.eventsOf('snapshot-refused').map(({ offset }) => offset)).toEqual([9, 6, 3]);
    expect(partition.snapshots()).toEqual([]);
  });

  it('kafka-4: one batch of each producer is known, whatever became of the snapshots', async () => {
    for (const loses of [true, false]) {
      const simulated = simulateCluster({ ...smallSegments, profile: 'kafka-4' });
      await fill(simulated, 20);
      const partition = simulated.cluster.partition('payments', 0);
      const before = partition.producerState();
      if (loses) partition.loseSnapshots();
      simulated.cluster.broker(1).kill();
      simulated.cluster.broker(1).restart();
      const lastOnes = before.map((entry) => ({ ...entry, batches: entry.batches.slice(-1) }));
      expect(sorted(partition.producerState())).toEqual(sorted(lastOnes));
    }
  });

  it('kafka-4: an entry whose records are deleted lives in the snapshot alone', async () => {
    for (const loses of [true, false]) {
      const { cluster, produce } = simulateCluster({ ...smallSegments, profile: 'kafka-4' });
      await produce({ producerId: 1, timestampMs: Date.UTC(2026, 0, 1) });
      for (let n = 0; n < 6; n++) await produce({ producerId: 2, baseSequence: n });
      const partition = cluster.partition('payments', 0);
      partition.deleteRecordsBefore(4);
      if (loses) partition.loseSnapshots();
      cluster.broker(1).kill();
      cluster.broker(1).restart();
      expect(
        partition
          .producerState()
          .map(({ producerId }) => producerId)
          .sort(),
      ).toEqual(loses ? [2n] : [1n, 2n]);
    }
  });
});

function sorted<T extends { readonly producerId: bigint }>(entries: readonly T[]): T[] {
  return [...entries].sort((one, other) => Number(one.producerId - other.producerId));
}

describe('M4: tutorial', () => {
  const action = fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({
        type: fc.constant('next' as const),
        producerId: fc.integer({ min: 1, max: 3 }),
        count: fc.integer({ min: 1, max: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant('bump' as const), producerId: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 700 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant('delete' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constantFrom('restart', 'crash', 'lose', 'damage', 'move', 'freeze') }),
    },
  );

  it('whatever happens, each replica’s state is the one that its log gives', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 60 }), fc.nat(), async (actions, seed) => {
        const simulated = simulateCluster(
          {
            brokers: 2,
            topics: { payments: { replicationFactor: 2, segmentBytes: 300 } },
            producerIdExpirationMs: 1_000,
            producerIdExpirationCheckMs: 400,
            sessionTimeoutMs: 300,
          },
          seed,
        );
        const { runtime, cluster, send } = simulated;
        const partition = cluster.partition('payments', 0);
        const next = new Map<number, { epoch: number; baseSequence: number }>();
        const produceNext = async (producerId: number, count: number, bumps: boolean) => {
          const broker = partition.leader;
          if (broker < 0) return;
          let { epoch, baseSequence } = next.get(producerId) ?? { epoch: 0, baseSequence: 0 };
          if (bumps) [epoch, baseSequence] = [epoch + 1, 0];
          const batch = { producerId, epoch, baseSequence, count, broker, timeoutMs: 350 };
          const result = await runtime.runUntilSettled(send(batch).catch(() => null));
          if (result?.errorCode === 0) next.set(producerId, { epoch, baseSequence: baseSequence + count });
          else next.set(producerId, { epoch: epoch + 1, baseSequence: 0 });
        };
        for (const each of actions) {
          const brokerId = 1 + Math.floor(runtime.random() * 2);
          const broker = cluster.broker(brokerId);
          if (each.type === 'next') await produceNext(each.producerId, each.count, false);
          else if (each.type === 'bump') await produceNext(each.producerId, 1, true);
          else if (each.type === 'wait') await runtime.advance(each.ms);
          else if (each.type === 'delete') {
            const { logStartOffset, highWatermark } = partition;
            partition.deleteRecordsBefore(logStartOffset + Math.floor(each.share * (highWatermark - logStartOffset)));
          } else if (each.type === 'restart') broker.restart();
          else if (each.type === 'crash') {
            broker.kill();
            await runtime.advance(5);
            broker.restart();
          } else if (each.type === 'lose') partition.loseSnapshots();
          else if (each.type === 'damage') partition.damageSnapshots();
          else if (each.type === 'move' && partition.isr.length === 2) partition.moveLeader();
          else if (each.type === 'freeze') {
            broker.pause();
            await runtime.advance(runtime.random() * 600);
            broker.resume();
          }
          for (const id of [1, 2]) {
            expect(sorted(partition.producerState(id))).toEqual(sorted(partition.rebuiltProducerState(id)));
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
