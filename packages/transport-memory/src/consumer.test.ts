import { RecordBatchWriter, stampBatch } from '@sendonce/producer-core/record-batch';
import { describe, expect, it } from 'vitest';
import { batchOf } from './batches.testkit.ts';
import type { ConsumedRecord, MemoryConsumer } from './consumer.ts';
import { assignPartitions, type GroupMember } from './consumer-group.ts';
import { type SimulatedCluster, simulateCluster } from './simulated-cluster.testkit.ts';

const group = { groupId: 'billing', topics: ['payments'] } as const;

async function take(consumer: MemoryConsumer, count: number): Promise<ConsumedRecord[]> {
  const records: ConsumedRecord[] = [];
  if (count === 0) return records;
  for await (const record of consumer) {
    records.push(record);
    if (records.length === count) break;
  }
  return records;
}

const offsets = (records: readonly ConsumedRecord[]) => records.map(({ offset }) => Number(offset));
const places = (records: readonly ConsumedRecord[]) => records.map(({ partition, offset }) => `${partition}@${offset}`);

async function fill({ produce }: SimulatedCluster, perPartition: number, partitions = 1): Promise<void> {
  for (let partition = 0; partition < partitions; partition++) {
    for (let n = 0; n < perPartition; n++) await produce({ producerId: 1, baseSequence: n, partition });
  }
}

describe('a consumer', () => {
  it('gives records as they were sent, batch by batch', async () => {
    const { cluster, runtime, transport } = simulateCluster();
    const buffer = Buffer.alloc(1_000);
    const writer = new RecordBatchWriter(buffer, 1_000);
    const headers = [
      ['idempotency-key', Buffer.from('p-1')],
      ['trace', null],
      ['trace', Buffer.from('t')],
    ] as [string, Buffer | null][];
    writer.tryAppend('key', 'value', headers, 1_000, 1_000);
    writer.tryAppend(null, null, undefined, 1_250, 1_000);
    writer.tryAppend('', '', undefined, 900, 1_000);
    const batch = writer.finish();
    stampBatch(batch, batch.length, { producerId: 1n, epoch: 0, baseSequence: 0 });
    const partitions = [{ topic: 'payments', partition: 0, batch }];
    await runtime.runUntilSettled(transport.produce(1, { acks: 'all', timeoutMs: 1_000, partitions }));
    const at = { topic: 'payments', partition: 0 };
    expect(await take(cluster.consumer(group), 3)).toEqual([
      { ...at, offset: 0n, timestamp: 1_000, key: Buffer.from('key'), value: Buffer.from('value'), headers },
      { ...at, offset: 1n, timestamp: 1_250, key: null, value: null, headers: [] },
      { ...at, offset: 2n, timestamp: 900, key: Buffer.alloc(0), value: Buffer.alloc(0), headers: [] },
    ]);
  });

  it('waits for records that are still to come, and ends when it is closed', async () => {
    const simulated = simulateCluster();
    const consumer = simulated.cluster.consumer(group);
    const seen: number[] = [];
    const loop = (async () => {
      for await (const { offset } of consumer) seen.push(Number(offset));
    })();
    await fill(simulated, 3);
    await simulated.runtime.settle();
    expect(seen).toEqual([0, 1, 2]);
    await consumer.close();
    await consumer.close();
    await loop;
    await expect(consumer.commit()).rejects.toMatchObject({ name: 'ConsumerError', code: 'CONSUMER_CLOSED' });
  });

  it('sees only what every in-sync replica has', async () => {
    const { runtime, cluster, send } = simulateCluster({
      brokers: 2,
      topics: { payments: { replicationFactor: 2 } },
      replicationDelayMs: 50,
    });
    const consumer = cluster.consumer(group);
    let seenAtMs = -1;
    void take(consumer, 1).then(() => {
      seenAtMs = runtime.monotonicMs();
    });
    void send({ producerId: 1 });
    await runtime.run();
    expect(seenAtMs).toBe(50);
  });

  it('begins where the group committed, in the middle of a batch too', async () => {
    const { cluster, produce } = simulateCluster();
    await produce({ producerId: 1, count: 10 });
    const first = cluster.consumer(group);
    await take(first, 4);
    await first.commit();
    await first.close();
    expect(cluster.committedOffset('billing', 'payments', 0)).toBe(4);
    expect(offsets(await take(cluster.consumer(group), 6))).toEqual([4, 5, 6, 7, 8, 9]);
    expect(cluster.committedOffset('others', 'payments', 0)).toBeNull();
    expect(offsets(await take(cluster.consumer({ ...group, groupId: 'others' }), 2))).toEqual([0, 1]);
  });

  it('leaving the loop keeps the place; the next loop goes on', async () => {
    const { cluster, produce } = simulateCluster();
    await produce({ producerId: 1, count: 5 });
    const consumer = cluster.consumer(group);
    expect(offsets(await take(consumer, 2))).toEqual([0, 1]);
    expect(offsets(await take(consumer, 3))).toEqual([2, 3, 4]);
  });

  it('after a crash everything uncommitted is delivered again: at least once', async () => {
    const simulated = simulateCluster();
    await fill(simulated, 5);
    const first = simulated.cluster.consumer(group);
    await take(first, 2);
    await first.commit();
    await take(first, 2);
    first.crash();
    expect(await take(first, 1)).toEqual([]);
    await expect(first.commit()).rejects.toMatchObject({ code: 'CONSUMER_CLOSED' });
    expect(offsets(await take(simulated.cluster.consumer(group), 3))).toEqual([2, 3, 4]);
  });

  it('`latest` begins after what is there', async () => {
    const simulated = simulateCluster();
    await fill(simulated, 3);
    const consumer = simulated.cluster.consumer({ ...group, from: 'latest' });
    await simulated.produce({ producerId: 1, baseSequence: 3 });
    expect(offsets(await take(consumer, 1))).toEqual([3]);
  });

  it('goes on reading over a failover, and committed offsets outlive every broker', async () => {
    const { runtime, cluster, produce } = simulateCluster({
      brokers: 2,
      topics: { payments: { replicationFactor: 2 } },
    });
    await produce({ producerId: 1, baseSequence: 0 });
    const consumer = cluster.consumer(group);
    await take(consumer, 1);
    await consumer.commit();
    cluster.broker(1).kill();
    await produce({ producerId: 1, baseSequence: 1, broker: 2 });
    expect(offsets(await take(consumer, 1))).toEqual([1]);
    cluster.broker(2).kill();
    const waiting = take(consumer, 1);
    await runtime.settle();
    cluster.broker(2).restart();
    cluster.broker(1).restart();
    await produce({ producerId: 1, baseSequence: 2, broker: 2 });
    expect(offsets(await waiting)).toEqual([2]);
    expect(cluster.committedOffset('billing', 'payments', 0)).toBe(1);
  });

  it('when the log does not have what comes next it goes on where there is something, and says so', async () => {
    const simulated = simulateCluster();
    const { cluster } = simulated;
    await fill(simulated, 6);
    const consumer = cluster.consumer(group);
    await take(consumer, 1);
    cluster.partition('payments', 0).deleteRecordsBefore(4);
    expect(offsets(await take(consumer, 2))).toEqual([4, 5]);
    expect(simulated.eventsOf('consumer-position-reset')).toMatchObject([{ fromOffset: 1, toOffset: 4 }]);
  });

  it('is closed by `await using`', async () => {
    const { cluster } = simulateCluster();
    let left: MemoryConsumer;
    {
      await using consumer = cluster.consumer(group);
      left = consumer;
      expect(consumer.assignment).toEqual([{ topic: 'payments', partition: 0 }]);
    }
    expect(left.assignment).toEqual([]);
  });

  it.each([
    [{ topics: ['payments'] }, /groupId must be/],
    [{ groupId: '', topics: ['payments'] }, /groupId must be/],
    [{ groupId: 'g', topics: [] }, /topics must be/],
    [{ groupId: 'g', topics: 'payments' }, /topics must be/],
    [{ groupId: 'g', topics: [''] }, /topics\[0\] must be/],
    [{ groupId: 'g', topics: ['payments'], from: 'start' }, /from must be/],
    [{ groupId: 'g', topics: ['payments'], fromBeginning: true }, /no option "fromBeginning"/],
  ])('%j is a ConfigError', (options, message) => {
    const { cluster } = simulateCluster();
    expect(() => cluster.consumer(options as never)).toThrow(message);
  });
});

describe('a group', () => {
  const four = { topics: { payments: { partitions: 4 } } } as const;
  const partitionsOf = (consumer: MemoryConsumer) => consumer.assignment.map(({ partition }) => partition);

  it('shares the partitions out, anew whenever a member joins or leaves', () => {
    const { cluster, eventsOf } = simulateCluster(four);
    const one = cluster.consumer(group);
    expect(partitionsOf(one)).toEqual([0, 1, 2, 3]);
    const two = cluster.consumer(group);
    expect([partitionsOf(one), partitionsOf(two)]).toEqual([
      [0, 2],
      [1, 3],
    ]);
    one.crash();
    expect(partitionsOf(two).sort()).toEqual([0, 1, 2, 3]);
    expect(eventsOf('group-rebalanced').map(({ generation, members }) => [generation, members])).toEqual([
      [1, ['billing-1']],
      [2, ['billing-1', 'billing-2']],
      [3, ['billing-2']],
    ]);
  });

  it('a member that keeps a partition goes on where it is; the new owner of another begins at the committed offset', async () => {
    const simulated = simulateCluster({ topics: { payments: { partitions: 2 } } });
    await fill(simulated, 3, 2);
    const one = simulated.cluster.consumer(group);
    expect(places(await take(one, 2)).sort()).toEqual(['0@0', '1@0']);
    await one.commit();
    expect(places(await take(one, 2)).sort()).toEqual(['0@1', '1@1']);
    const two = simulated.cluster.consumer(group);
    await expect(one.commit()).rejects.toMatchObject({
      code: 'CONSUMER_REBALANCED',
      message: expect.stringContaining('payments-1'),
    });
    expect(simulated.cluster.committedOffset('billing', 'payments', 0)).toBe(2);
    expect(simulated.cluster.committedOffset('billing', 'payments', 1)).toBe(1);
    expect(places(await take(one, 1))).toEqual(['0@2']);
    expect(places(await take(two, 2))).toEqual(['1@1', '1@2']);
    await one.commit();
  });

  it('records fetched and not yet handed out go with the partition', async () => {
    const { cluster, produce } = simulateCluster({ topics: { payments: { partitions: 2 } } });
    await produce({ producerId: 1, partition: 1, count: 10 });
    const one = cluster.consumer(group);
    await take(one, 1);
    const two = cluster.consumer(group);
    expect(places(await take(two, 10))).toHaveLength(10);
    await produce({ producerId: 1, partition: 0 });
    expect(places(await take(one, 1))).toEqual(['0@0']);
  });

  it('takes new partitions in, and lets those of a deleted topic go', async () => {
    const simulated = simulateCluster();
    const { cluster } = simulated;
    const consumer = cluster.consumer(group);
    cluster.addPartitions('payments', 3);
    expect(partitionsOf(consumer)).toEqual([0, 1, 2]);
    await simulated.produce({ producerId: 1, partition: 2 });
    expect(places(await take(consumer, 1))).toEqual(['2@0']);
    await consumer.commit();
    cluster.deleteTopic('payments');
    expect(consumer.assignment).toEqual([]);
    cluster.createTopic('payments', { partitions: 3 });
    await simulated.produce({ producerId: 1, partition: 2 });
    expect(places(await take(consumer, 1))).toEqual(['2@0']);
  });

  it('a topic that does not exist yet is consumed from when it does', async () => {
    const { cluster, produce } = simulateCluster();
    const consumer = cluster.consumer({ groupId: 'g', topics: ['refunds'] });
    cluster.createTopic('refunds');
    await produce({ producerId: 1, topic: 'refunds' });
    expect(await take(consumer, 1)).toMatchObject([{ topic: 'refunds', offset: 0n }]);
  });

  it('with more members than partitions some have none', () => {
    const member = (memberId: string, ...topics: string[]): GroupMember => ({ memberId, topics, assign: () => {} });
    const members = [member('a', 'x', 'y'), member('b', 'y'), member('c', 'x')];
    const shares = assignPartitions(members, (topic) => (topic === 'x' ? 1 : 3));
    const named = members.map((each) => shares.get(each)!.map(({ topic, partition }) => `${topic}${partition}`));
    expect(named).toEqual([['x0', 'y0', 'y2'], ['y1'], []]);
  });
});

it('records of a batch are views of the log, and the log stays as it is', async () => {
  const { cluster, runtime, transport } = simulateCluster();
  const partitions = [{ topic: 'payments', partition: 0, batch: batchOf({ value: 'abc' }) }];
  await runtime.runUntilSettled(transport.produce(1, { acks: 'all', timeoutMs: 1_000, partitions }));
  await take(cluster.consumer(group), 1);
  expect(cluster.dump('payments', 0)).toMatchObject([{ isvalid: true }]);
});
