import { describe, expect, it } from 'vitest';
import { simulateCluster } from './simulated-cluster.testkit.ts';

const three = { brokers: 3, topics: { payments: { replicationFactor: 3 } } } as const;
const careful = { brokers: 3, topics: { payments: { replicationFactor: 3, minInsyncReplicas: 2 } } } as const;

describe('M6: followers', () => {
  it('hold the leader’s bytes, and know the producers by themselves', async () => {
    const { cluster, produce } = simulateCluster(three);
    for (let n = 0; n < 7; n++) await produce({ producerId: 1, baseSequence: n });
    const partition = cluster.partition('payments', 0);
    for (const broker of [2, 3]) {
      expect(partition.batches(broker)).toEqual(partition.batches(1));
      expect(partition.producerState(broker)).toEqual(partition.producerState(1));
    }
  });

  it('recognise a repeat after failover, all five batches back', async () => {
    const { cluster, produce } = simulateCluster({ ...three, profile: 'kafka-4' });
    for (let n = 0; n < 6; n++) await produce({ producerId: 1, baseSequence: n });
    cluster.broker(1).kill();
    for (let n = 1; n < 6; n++) {
      const repeat = await produce({ producerId: 1, baseSequence: n, broker: 2 });
      expect(repeat).toMatchObject({ errorCode: 0, baseOffset: BigInt(n) });
    }
    expect(await produce({ producerId: 1, baseSequence: 0, broker: 2 })).toMatchObject({ errorCode: 45 });
  });

  it('a broker that leads again after a restart knows one batch, its followers five (kafka-4)', async () => {
    const { cluster, produce } = simulateCluster({ ...three, profile: 'kafka-4' });
    for (let n = 0; n < 5; n++) await produce({ producerId: 1, baseSequence: n });
    cluster.broker(1).restart();
    expect(cluster.partition('payments', 0).leader).toBe(2);
    expect(await produce({ producerId: 1, baseSequence: 0, broker: 2 })).toMatchObject({ errorCode: 0 });
    cluster.partition('payments', 0).moveLeader(1);
    expect(await produce({ producerId: 1, baseSequence: 0 })).toMatchObject({ errorCode: 45 });
    expect(await produce({ producerId: 1, baseSequence: 4 })).toMatchObject({ errorCode: 0, baseOffset: 4n });
  });

  it('that are behind catch up, and are in sync again', async () => {
    const { cluster, produce, eventsOf } = simulateCluster(three);
    cluster.broker(3).kill();
    await produce({ producerId: 1, count: 3 });
    const partition = cluster.partition('payments', 0);
    expect(partition.isr).toEqual([1, 2]);
    cluster.broker(3).restart();
    expect(partition.isr).toEqual([1, 2, 3]);
    expect(partition.batches(3)).toEqual(partition.batches(1));
    expect(eventsOf('isr-expanded')).toMatchObject([{ brokerId: 3, isr: [1, 2, 3] }]);
  });

  it.each([1, 3])('begin at the leader’s log start when what they miss is deleted, in batches of %i', async (count) => {
    const { cluster, produce } = simulateCluster({
      brokers: 3,
      topics: { payments: { replicationFactor: 3, segmentBytes: 200 } },
    });
    cluster.broker(3).kill();
    for (let n = 0; n < 6; n++) await produce({ producerId: 1, baseSequence: n * count, count });
    const partition = cluster.partition('payments', 0);
    partition.deleteRecordsBefore(5 * count - 1);
    cluster.broker(3).restart();
    expect(partition.log(3)).toMatchObject([{ baseOffset: 4 * count }, { baseOffset: 5 * count }]);
    expect(partition.log(3).map(({ crc }) => crc)).toEqual(partition.log(1).map(({ crc }) => crc));
    expect(partition.isr).toEqual([1, 2, 3]);
    cluster.broker(1).kill();
    cluster.broker(2).kill();
    expect([partition.leader, partition.logStartOffset, partition.logEndOffset]).toEqual([3, 5 * count - 1, 6 * count]);
  });

  it('that were fetching from the old leader fetch from the new one', async () => {
    const { runtime, cluster, send } = simulateCluster({ ...three, replicationDelayMs: 100 });
    await runtime.runUntilSettled(send({ producerId: 1, baseSequence: 0 }));
    void send({ producerId: 1, baseSequence: 1, acks: 'leader' });
    await runtime.advance(50);
    cluster.partition('payments', 0).moveLeader(2);
    const sent = send({ producerId: 2, broker: 2, timeoutMs: 5_000 });
    expect(await runtime.runUntilSettled(sent)).toMatchObject({ errorCode: 0, baseOffset: 1n });
    expect(runtime.monotonicMs()).toBe(250);
  });

  it('that caught up with a leader which was deposed are not in sync for that', async () => {
    const { runtime, cluster, eventsOf } = simulateCluster({
      ...three,
      metadataDelayMs: 100,
      replicationDelayMs: 50,
    });
    await runtime.run();
    cluster.broker(3).kill();
    cluster.broker(3).restart();
    await runtime.advance(120);
    const partition = cluster.partition('payments', 0);
    expect(partition.isr).toEqual([1, 2]);
    partition.moveLeader(2);
    await runtime.advance(99);
    expect(partition.isr).toEqual([1, 2]);
    await runtime.run();
    expect(partition.isr).toEqual([1, 2, 3]);
    expect(eventsOf('isr-expanded')).toHaveLength(1);
  });

  it('that truncate also drop the snapshots of what is gone', async () => {
    const { runtime, cluster, send, produce } = simulateCluster({
      brokers: 3,
      topics: { payments: { replicationFactor: 3, segmentBytes: 200 } },
      sessionTimeoutMs: 500,
    });
    await produce({ producerId: 1, baseSequence: 0 });
    cluster.broker(1).pause();
    for (let n = 0; n < 6; n++) void send({ producerId: 2, baseSequence: n, acks: 'leader', timeoutMs: 60_000 });
    await runtime.advance(500);
    cluster.broker(1).resume();
    await runtime.settle();
    for (let n = 0; n < 8; n++) await produce({ producerId: 3, baseSequence: n, broker: 2 });
    const partition = cluster.partition('payments', 0);
    cluster.broker(1).kill();
    cluster.broker(1).restart();
    expect(partition.producerState(1).map(({ producerId }) => producerId)).toEqual([1n, 3n]);
    expect(partition.producerState(1)).toEqual(partition.producerState(2));
  });
});

describe('M6: acks=all', () => {
  it('answers when every in-sync replica has the batch, and readers see it then', async () => {
    const { runtime, cluster, send } = simulateCluster({ ...three, replicationDelayMs: 20 });
    const sent = send({ producerId: 1 });
    let isAnswered = false;
    void sent.then(() => {
      isAnswered = true;
    });
    await runtime.advance(19);
    expect([isAnswered, cluster.partition('payments', 0).highWatermark]).toEqual([false, 0]);
    await runtime.advance(1);
    expect([isAnswered, cluster.partition('payments', 0).highWatermark]).toEqual([true, 1]);
  });

  it('a repeat of a batch that is still on its way to the followers waits for them as well', async () => {
    const { runtime, cluster, send } = simulateCluster({ ...three, replicationDelayMs: 20 });
    cluster.faults.loseReply();
    void send({ producerId: 1 });
    await runtime.advance(10);
    const other = cluster.transport();
    const { produceOne } = await import('./batches.testkit.ts');
    const repeat = produceOne(other, { producerId: 1 });
    let answeredAtMs = -1;
    void repeat.then(() => {
      answeredAtMs = runtime.monotonicMs();
    });
    await runtime.runUntilSettled(repeat);
    expect(answeredAtMs).toBe(20);
    expect(await repeat).toMatchObject({ errorCode: 0, baseOffset: 0n });
  });

  it('acks=leader does not wait for anybody', async () => {
    const { runtime, produce } = simulateCluster({ ...three, replicationDelayMs: 20 });
    expect(await produce({ producerId: 1, acks: 'leader' })).toMatchObject({ errorCode: 0, baseOffset: 0n });
    expect(runtime.monotonicMs()).toBe(0);
  });

  it('with too few in-sync replicas the batch is refused before it is stored', async () => {
    const { cluster, produce } = simulateCluster(careful);
    cluster.broker(2).kill();
    expect(await produce({ producerId: 1 })).toMatchObject({ errorCode: 0 });
    cluster.broker(3).kill();
    expect(await produce({ producerId: 1, baseSequence: 1 })).toMatchObject({ errorCode: 19, baseOffset: -1n });
    expect(cluster.partition('payments', 0).logEndOffset).toBe(1);
    expect(await produce({ producerId: 1, baseSequence: 1, acks: 'leader' })).toMatchObject({ errorCode: 0 });
  });

  it('when they became too few after it was stored, the answer says so', async () => {
    const { runtime, cluster, send } = simulateCluster({ ...careful, sessionTimeoutMs: 500 });
    cluster.broker(2).pause();
    cluster.broker(3).pause();
    const sent = send({ producerId: 1, timeoutMs: 5_000 });
    await runtime.advance(499);
    expect(cluster.partition('payments', 0).isr).toEqual([1, 2, 3]);
    await runtime.advance(1);
    expect(await sent).toMatchObject({ errorCode: 20 });
    expect(cluster.partition('payments', 0).logEndOffset).toBe(1);
  });

  it('a frozen follower holds the answer up until it is taken out of sync', async () => {
    const { runtime, cluster, send } = simulateCluster({ ...three, sessionTimeoutMs: 500 });
    cluster.broker(2).pause();
    const sent = send({ producerId: 1 });
    await runtime.runUntilSettled(sent);
    expect(runtime.monotonicMs()).toBe(500);
    expect(await sent).toMatchObject({ errorCode: 0 });
    cluster.broker(2).resume();
    expect(cluster.partition('payments', 0).isr).toEqual([1, 2, 3]);
    expect(cluster.partition('payments', 0).logEndOffset).toBe(1);
  });

  it('a follower that freezes for a moment only is never missed', async () => {
    const { runtime, cluster, send, eventsOf } = simulateCluster({ ...three, sessionTimeoutMs: 500 });
    cluster.broker(2).pause();
    const sent = send({ producerId: 1 });
    await runtime.advance(400);
    cluster.broker(2).resume();
    expect(await runtime.runUntilSettled(sent)).toMatchObject({ errorCode: 0 });
    await runtime.advance(1_000);
    expect(eventsOf('isr-shrunk')).toEqual([]);
  });
});

describe('M6: a leader that was deposed without hearing of it', () => {
  /** Broker 1 leads, freezes with requests in its socket, and loses the leadership meanwhile. */
  async function freezeTheLeader(seed = 1) {
    const simulated = simulateCluster({ ...three, sessionTimeoutMs: 500 }, seed);
    const { runtime, cluster, produce, send } = simulated;
    await produce({ producerId: 1, baseSequence: 0 });
    const { leader } = cluster.partition('payments', 0);
    expect(leader).toBe(1);
    cluster.broker(1).pause();
    const late = send({ producerId: 1, baseSequence: 1, timeoutMs: 60_000 });
    await runtime.advance(500);
    expect(cluster.partition('payments', 0)).toMatchObject({ leader: 2, isr: [2, 3] });
    return { ...simulated, late };
  }

  it('works through its socket when it wakes, and never acknowledges: its followers have left', async () => {
    const { cluster, late, runtime } = await freezeTheLeader();
    cluster.broker(1).resume();
    expect(await runtime.runUntilSettled(late)).toMatchObject({
      errorCode: 6,
      currentLeader: { brokerId: 2, leaderEpoch: 1 },
    });
    expect(cluster.partition('payments', 0).logEndOffset).toBe(1);
  });

  it('drops what it stored beyond the new leader’s log, and forgets the numbers', async () => {
    const { cluster, late, runtime, produce, eventsOf } = await freezeTheLeader();
    expect(await produce({ producerId: 1, baseSequence: 1, count: 4, broker: 2 })).toMatchObject({ baseOffset: 1n });
    cluster.broker(1).resume();
    expect(await runtime.runUntilSettled(late)).toMatchObject({ errorCode: 6 });
    expect(eventsOf('log-truncated')).toMatchObject([{ brokerId: 1, toOffset: 1, recordsRemoved: 1 }]);
    const partition = cluster.partition('payments', 0);
    expect(partition.batches(1)).toEqual(partition.batches(2));
    expect(partition.producerState(1)).toEqual(partition.producerState(2));
    expect(partition.isr).toEqual([1, 2, 3]);
  });

  it('does not take the others’ growth for replication of its own records', async () => {
    const { cluster, late, runtime, produce } = await freezeTheLeader();
    // The followers’ logs are longer than the deposed leader’s will be, with other records in them.
    await produce({ producerId: 2, count: 9, broker: 2 });
    cluster.broker(1).resume();
    expect(await runtime.runUntilSettled(late)).toMatchObject({ errorCode: 6 });
    expect(cluster.dump('payments', 0).map(({ producerId }) => producerId)).toEqual([1n, 2n]);
  });

  it('answers acks=leader all the same, and the record is lost: that is what it promises', async () => {
    const { cluster, send, runtime } = simulateCluster({ ...three, sessionTimeoutMs: 500 });
    await runtime.runUntilSettled(send({ producerId: 1, baseSequence: 0 }));
    cluster.broker(1).pause();
    const late = send({ producerId: 1, baseSequence: 1, timeoutMs: 60_000, acks: 'leader' });
    await runtime.advance(500);
    cluster.broker(1).resume();
    expect(await runtime.runUntilSettled(late)).toMatchObject({ errorCode: 0, baseOffset: 1n });
    expect(cluster.partition('payments', 0).logEndOffset).toBe(1);
  });
});

describe('M6: leaders', () => {
  it('a broker that does not lead says who does', async () => {
    const { produce } = simulateCluster(three);
    expect(await produce({ producerId: 1, broker: 2 })).toMatchObject({
      errorCode: 6,
      baseOffset: -1n,
      currentLeader: { brokerId: 1, leaderEpoch: 0 },
    });
  });

  it('until it hears of its election, the new leader refuses too', async () => {
    const { runtime, cluster, produce } = simulateCluster({ ...three, metadataDelayMs: 30 });
    await runtime.advance(30);
    expect(await produce({ producerId: 1, baseSequence: 0 })).toMatchObject({ errorCode: 0 });
    cluster.broker(1).kill();
    expect(await produce({ producerId: 1, baseSequence: 1, broker: 2 })).toMatchObject({ errorCode: 6 });
    await runtime.advance(30);
    expect(await produce({ producerId: 1, baseSequence: 1, broker: 2 })).toMatchObject({ errorCode: 0 });
  });

  it('a partition whose in-sync replicas are all down has none, and takes the first that returns', async () => {
    const { runtime, cluster, transport, produce } = simulateCluster(three);
    cluster.broker(1).kill();
    cluster.broker(2).kill();
    await produce({ producerId: 1, broker: 3 });
    cluster.broker(3).kill();
    cluster.broker(1).restart();
    const partition = cluster.partition('payments', 0);
    expect([partition.leader, partition.isr]).toEqual([-1, [3]]);
    const { topics } = await runtime.runUntilSettled(transport.metadata(['payments']));
    expect(topics[0]?.partitions).toEqual([{ partition: 0, errorCode: 5, leader: -1, leaderEpoch: 3 }]);
    expect(await produce({ producerId: 1, baseSequence: 1 })).toMatchObject({ errorCode: 6 });
    cluster.broker(3).restart();
    expect([partition.leader, partition.isr]).toEqual([3, [1, 3]]);
    expect(await produce({ producerId: 1, baseSequence: 0, broker: 3 })).toMatchObject({ baseOffset: 0n });
  });

  it('a broker that stops cleanly hands leadership on first, and says so to whoever waits', async () => {
    const { runtime, cluster, send } = simulateCluster({ ...three, replicationDelayMs: 100 });
    const sent = send({ producerId: 1 });
    await runtime.advance(50);
    cluster.broker(1).restart();
    expect(await runtime.runUntilSettled(sent)).toMatchObject({ errorCode: 6, currentLeader: { brokerId: 2 } });
  });

  it('a killed broker is missed after the election delay only', async () => {
    const { runtime, cluster } = simulateCluster({ ...three, electionDelayMs: 100 });
    const partition = cluster.partition('payments', 0);
    cluster.broker(1).kill();
    await runtime.advance(99);
    expect([partition.leader, partition.leaderEpoch]).toEqual([1, 0]);
    await runtime.advance(1);
    expect([partition.leader, partition.leaderEpoch]).toEqual([2, 1]);
  });

  it('a broker that is back before it was missed leads under a new epoch, or lets another lead', async () => {
    const { runtime, cluster } = simulateCluster({ electionDelayMs: 100 });
    cluster.broker(1).kill();
    cluster.broker(1).restart();
    const partition = cluster.partition('payments', 0);
    expect(partition.leader).toBe(1);
    expect(partition.leaderEpoch).toBeGreaterThan(0);
    await runtime.advance(1_000);
    expect(partition.leader).toBe(1);
  });

  it('leadership moves to an in-sync replica only', () => {
    const { cluster } = simulateCluster(three);
    const partition = cluster.partition('payments', 0);
    partition.moveLeader();
    expect(partition.leader).toBe(2);
    partition.moveLeader(3);
    partition.moveLeader(3);
    expect([partition.leader, partition.leaderEpoch]).toEqual([3, 2]);
    cluster.broker(1).kill();
    expect(() => partition.moveLeader(1)).toThrow(/not an in-sync replica/);
  });
});

describe('M6: an unclean election', () => {
  it('loses what the new leader does not have, and says how many records', async () => {
    const { cluster, produce, eventsOf } = simulateCluster(three);
    await produce({ producerId: 1, baseSequence: 0, count: 2 });
    cluster.broker(3).kill();
    await produce({ producerId: 1, baseSequence: 2, count: 3 });
    await produce({ producerId: 1, baseSequence: 5, count: 4 });
    cluster.broker(2).kill();
    cluster.broker(1).kill();
    cluster.broker(3).restart();
    const partition = cluster.partition('payments', 0);
    expect(partition.leader).toBe(-1);
    partition.uncleanElection();
    expect([partition.leader, partition.isr, partition.logEndOffset]).toEqual([3, [3], 2]);
    expect(eventsOf('unclean-election')).toMatchObject([{ leader: 3, logEndOffset: 2, recordsLost: 7 }]);
    expect(await produce({ producerId: 1, baseSequence: 9, broker: 3 })).toMatchObject({ errorCode: 45 });

    cluster.broker(1).restart();
    expect(eventsOf('log-truncated')).toMatchObject([{ brokerId: 1, toOffset: 2, recordsRemoved: 7 }]);
    expect(partition.batches(1)).toEqual(partition.batches(3));
  });

  it('is refused while somebody leads, or nobody is up', () => {
    const { cluster } = simulateCluster(three);
    const partition = cluster.partition('payments', 0);
    expect(() => partition.uncleanElection()).toThrow(/broker 1 leads/);
    for (const broker of [3, 2, 1]) cluster.broker(broker).kill();
    expect(() => partition.uncleanElection()).toThrow(/no replica/);
  });
});
