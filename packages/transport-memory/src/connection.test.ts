import { describe, expect, it } from 'vitest';
import { produceOne } from './batches.testkit.ts';
import { simulateCluster } from './simulated-cluster.testkit.ts';

const refused = { name: 'TransportError', sent: 'no' };
const lost = { name: 'TransportError', sent: 'maybe' };

describe('T2: what left and what did not', () => {
  it('a broker that is down refuses the connection: not sent', async () => {
    const { cluster, produce } = simulateCluster();
    cluster.broker(1).kill();
    await expect(produce({ producerId: 1 })).rejects.toMatchObject({ ...refused, code: 'CONNECTION_REFUSED' });
  });

  it('a broker that does not exist: not sent', async () => {
    const { produce } = simulateCluster();
    await expect(produce({ producerId: 1, broker: 9 })).rejects.toMatchObject({ ...refused, code: 'UNKNOWN_BROKER' });
  });

  it('a frozen broker lets nobody in: not sent, after the request’s timeout', async () => {
    const { runtime, cluster, produce } = simulateCluster();
    cluster.broker(1).pause();
    await expect(produce({ producerId: 1, timeoutMs: 700 })).rejects.toMatchObject({
      ...refused,
      code: 'REQUEST_TIMEOUT',
    });
    expect(runtime.monotonicMs()).toBe(700);
    cluster.broker(1).resume();
    await runtime.run();
    expect(cluster.partition('payments', 0).logEndOffset).toBe(0);
  });

  it('or after the time to connect', async () => {
    const { runtime, cluster } = simulateCluster();
    cluster.broker(1).pause();
    const transport = cluster.transport({ connectTimeoutMs: 300 });
    const sent = produceOne(transport, { producerId: 1, timeoutMs: 700 });
    await expect(runtime.runUntilSettled(sent)).rejects.toMatchObject({ ...refused, code: 'CONNECT_TIMEOUT' });
    expect(runtime.monotonicMs()).toBe(300);
  });

  it('a request that was written and not answered: maybe', async () => {
    const { cluster, produce } = simulateCluster();
    cluster.faults.loseRequest();
    await expect(produce({ producerId: 1 })).rejects.toMatchObject({ ...lost, code: 'REQUEST_TIMEOUT' });
  });

  it('a request that waits to be written when the transport closes: not sent; one that was written: maybe', async () => {
    const { runtime, cluster, transport } = simulateCluster();
    await runtime.runUntilSettled(transport.connect());
    cluster.faults.loseRequest();
    const written = produceOne(transport, { producerId: 1 });
    await runtime.settle();
    const waiting = produceOne(transport, { producerId: 1 });
    void transport.close();
    await expect(written).rejects.toMatchObject(lost);
    await expect(waiting).rejects.toMatchObject(refused);
    await expect(produceOne(transport, { producerId: 1 })).rejects.toMatchObject({ ...refused, code: 'CLOSED' });
    await expect(transport.connect()).rejects.toMatchObject(refused);
    await expect(transport.metadata([])).rejects.toMatchObject(refused);
    await transport.close();
    expect(cluster.partition('payments', 0).logEndOffset).toBe(0);
  });
});

describe('T3: order', () => {
  it('requests reach a broker in the order of the calls, those made before the connection was open included', async () => {
    for (const latencyMs of [0, { minMs: 0, maxMs: 50 }]) {
      const { runtime, cluster, send } = simulateCluster({ latencyMs });
      const sent = Array.from({ length: 20 }, (_, baseSequence) => send({ producerId: 1, baseSequence }));
      await runtime.advance(60);
      for (let n = 20; n < 40; n++) sent.push(send({ producerId: 1, baseSequence: n }));
      const results = await runtime.runUntilSettled(Promise.all(sent));
      expect(results.map(({ baseOffset }) => Number(baseOffset))).toEqual(Array.from({ length: 40 }, (_, n) => n));
      expect(cluster.partition('payments', 0).logEndOffset).toBe(40);
    }
  });

  it('a delayed request holds up those behind it', async () => {
    const { runtime, cluster, send } = simulateCluster();
    cluster.faults.delay({ baseSequence: 0 }, { requestMs: 100 });
    const sent = [send({ producerId: 1, baseSequence: 0 }), send({ producerId: 1, baseSequence: 1 })];
    const results = await runtime.runUntilSettled(Promise.all(sent));
    expect(results).toMatchObject([{ baseOffset: 0n }, { baseOffset: 1n }]);
    expect(runtime.monotonicMs()).toBe(100);
  });

  it('an answer never comes in the turn of the call', async () => {
    const { runtime, transport } = simulateCluster();
    await runtime.runUntilSettled(transport.connect());
    let isAnswered = false;
    void produceOne(transport, { producerId: 1 }).then(() => {
      isAnswered = true;
    });
    for (let microtask = 0; microtask < 20; microtask++) await undefined;
    expect(isAnswered).toBe(false);
    await runtime.settle();
    expect(isAnswered).toBe(true);
    expect(runtime.monotonicMs()).toBe(0);
  });

  it('the next request of a connection is worked on only when the one before is answered', async () => {
    const { runtime, cluster, send } = simulateCluster({
      brokers: 2,
      topics: { payments: { partitions: 2, replicationFactor: 2 } },
      replicationDelayMs: 10,
    });
    cluster.partition('payments', 1).moveLeader(1);
    await runtime.settle();
    void send({ producerId: 1, partition: 0 });
    void send({ producerId: 1, partition: 1, acks: 'leader' });
    await runtime.advance(9);
    expect(cluster.partition('payments', 1).logEndOffset).toBe(0);
    await runtime.advance(1);
    expect(cluster.partition('payments', 1).logEndOffset).toBe(1);
  });
});

describe('T4: a request that timed out costs its connection', () => {
  it('and so do all others that wait on it', async () => {
    const { runtime, cluster, send, eventsOf } = simulateCluster();
    cluster.faults.loseReply({ times: 3 });
    const sent = [
      send({ producerId: 1, baseSequence: 0, timeoutMs: 500 }),
      send({ producerId: 1, baseSequence: 1, timeoutMs: 9_000 }),
      send({ producerId: 1, baseSequence: 2, timeoutMs: 9_000 }),
    ];
    await runtime.run();
    for (const each of sent) await expect(each).rejects.toMatchObject({ ...lost, code: 'REQUEST_TIMEOUT' });
    expect(runtime.monotonicMs()).toBe(500);
    expect(eventsOf('request-timed-out')).toHaveLength(1);
  });

  it('the shortest timeout counts, wherever it stands in the queue', async () => {
    const { runtime, cluster, send } = simulateCluster();
    cluster.faults.loseReply({ times: 2 });
    void send({ producerId: 1, baseSequence: 0, timeoutMs: 9_000 });
    const second = send({ producerId: 1, baseSequence: 1, timeoutMs: 300 });
    await expect(runtime.runUntilSettled(second)).rejects.toMatchObject(lost);
    expect(runtime.monotonicMs()).toBe(300);
  });

  it('the next request uses a new connection', async () => {
    const { runtime, cluster, send, produce } = simulateCluster();
    cluster.faults.delay({}, { replyMs: 2_000 });
    await expect(produce({ producerId: 1, baseSequence: 0 })).rejects.toMatchObject(lost);
    const next = send({ producerId: 1, baseSequence: 1 });
    expect(await runtime.runUntilSettled(next)).toMatchObject({ baseOffset: 1n });
    expect(cluster.eventCounts['connection-opened']).toBe(2);
    expect(runtime.pendingTasks).toBe(0);
  });

  it('a timer that is not needed any more keeps no run from its end', async () => {
    const { runtime, produce } = simulateCluster();
    await produce({ producerId: 1, timeoutMs: 30_000 });
    expect(runtime.pendingTasks).toBe(0);
  });
});

describe('zombies: what was written is still worked on', () => {
  it('by a broker that was frozen and wakes up', async () => {
    const { runtime, cluster, transport, send } = simulateCluster();
    await runtime.runUntilSettled(transport.connect());
    cluster.broker(1).pause();
    const sent = send({ producerId: 1 });
    await expect(runtime.runUntilSettled(sent)).rejects.toMatchObject(lost);
    expect(cluster.partition('payments', 0).logEndOffset).toBe(0);
    cluster.broker(1).resume();
    expect(cluster.partition('payments', 0).logEndOffset).toBe(1);
  });

  it('when it was delayed on the way, after its successor on another connection', async () => {
    const { runtime, cluster, produce } = simulateCluster();
    cluster.faults.delay({}, { requestMs: 5_000 });
    await expect(produce({ producerId: 1, epoch: 0 })).rejects.toMatchObject(lost);
    expect(await produce({ producerId: 1, epoch: 1 })).toMatchObject({ baseOffset: 0n });
    await runtime.run();
    expect(cluster.eventCounts['batch-refused']).toBe(1);
  });

  it.each([
    ['on the way, after a delay of ours', 0, 5_000, 60_000],
    ['on the way, its client gone', 0, 5_000, 10],
    ['on the way, the latency being what it is', 200, 0, 10],
    ['in the socket of a broker that is busy', 0, 0, 10],
  ])('%s, with the bytes that it was sent with', async (where, latencyMs, requestMs, timeoutMs) => {
    const { runtime, cluster, transport, send } = simulateCluster({
      brokers: 2,
      topics: { payments: { replicationFactor: 2 } },
      latencyMs,
      replicationDelayMs: where.endsWith('busy') ? 100 : 0,
    });
    const { batchOf } = await import('./batches.testkit.ts');
    await runtime.runUntilSettled(transport.connect());
    if (where.endsWith('busy')) void send({ producerId: 6, timeoutMs: 1_000 });
    if (requestMs > 0) cluster.faults.delay({}, { requestMs });
    const batch = batchOf({ producerId: 7 });
    const partitions = [{ topic: 'payments', partition: 0, batch }];
    const sent = transport.produce(1, { acks: 'all', timeoutMs, partitions });
    await runtime.runUntilSettled(sent.catch(() => {}));
    batch.fill(0xff);
    await runtime.run();
    expect(cluster.dump('payments', 0).at(-1)).toMatchObject({ producerId: 7n, isvalid: true });
  });

  it('but not by the next process of a broker that was killed', async () => {
    for (const fault of ['delayed', 'delayed, its client gone', 'frozen'] as const) {
      const { runtime, cluster, transport, send } = simulateCluster();
      await runtime.runUntilSettled(transport.connect());
      if (fault === 'frozen') cluster.broker(1).pause();
      else cluster.faults.delay({}, { requestMs: 5_000 });
      const sent = send({ producerId: 1, timeoutMs: fault === 'delayed, its client gone' ? 10 : 60_000 });
      await runtime.advance(10);
      cluster.broker(1).kill();
      cluster.broker(1).restart();
      await runtime.run();
      expect(cluster.partition('payments', 0).logEndOffset).toBe(0);
      await expect(sent).rejects.toMatchObject(lost);
    }
  });
});

describe('finding a broker', () => {
  it('metadata and producer ids come from any broker that is up', async () => {
    const { runtime, cluster, transport } = simulateCluster({ brokers: 3 });
    cluster.broker(1).kill();
    cluster.broker(2).kill();
    const { brokers, topics } = await runtime.runUntilSettled(transport.metadata(['payments', 'none', 'no/name']));
    expect(brokers.map(({ brokerId }) => brokerId)).toEqual([3]);
    expect(topics).toMatchObject([
      { topic: 'payments', errorCode: 0, partitions: [{ partition: 0, errorCode: 0, leader: 3, leaderEpoch: 2 }] },
      { topic: 'none', errorCode: 3, partitions: [] },
      { topic: 'no/name', errorCode: 17, partitions: [] },
    ]);
    expect(topics[0]?.topicId).toMatch(/^[\w-]{22}$/);
    cluster.broker(3).kill();
    await expect(runtime.runUntilSettled(transport.metadata([]))).rejects.toMatchObject({
      ...refused,
      code: 'NO_BROKER',
    });
    await expect(runtime.runUntilSettled(transport.connect())).rejects.toMatchObject({ ...refused, code: 'NO_BROKER' });
  });

  it('one that does not answer is not asked first the next time', async () => {
    const { runtime, cluster } = simulateCluster({ brokers: 2 });
    const transport = cluster.transport({ requestTimeoutMs: 400 });
    await runtime.runUntilSettled(transport.connect());
    cluster.broker(1).pause();
    await expect(runtime.runUntilSettled(transport.metadata([]))).rejects.toMatchObject(lost);
    await runtime.runUntilSettled(transport.metadata([]));
    expect(runtime.monotonicMs()).toBe(400);
  });

  it('connect ends when its signal says so', async () => {
    const { runtime, cluster, transport } = simulateCluster();
    cluster.broker(1).pause();
    const controller = new AbortController();
    const connecting = transport.connect(controller.signal);
    controller.abort(new Error('enough'));
    await expect(connecting).rejects.toMatchObject({ ...refused, code: 'ABORTED', cause: { message: 'enough' } });
    await expect(transport.connect(AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' });
    await runtime.run();
    cluster.broker(1).resume();
    await runtime.runUntilSettled(transport.connect(new AbortController().signal));
  });

  it('closing during connect ends it', async () => {
    const { cluster, transport } = simulateCluster();
    cluster.broker(1).pause();
    const connecting = transport.connect();
    await transport.close();
    await expect(connecting).rejects.toMatchObject({ ...refused, code: 'CLOSED' });
  });
});

describe('acks none', () => {
  it('is answered when the request left, with no offset', async () => {
    const { cluster, produce } = simulateCluster();
    expect(await produce({ producerId: 1, acks: 'none' })).toEqual({
      topic: 'payments',
      partition: 0,
      errorCode: 0,
      baseOffset: -1n,
      logAppendTimeMs: -1,
      logStartOffset: -1n,
    });
    expect(cluster.partition('payments', 0).logEndOffset).toBe(1);
  });

  it('a refusal costs the connection, as there is nobody to tell', async () => {
    const { runtime, cluster, produce } = simulateCluster();
    await produce({ producerId: 1, acks: 'none' });
    await produce({ producerId: 1, baseSequence: 9, acks: 'none' });
    await runtime.settle();
    await produce({ producerId: 1, baseSequence: 1 });
    expect(cluster.eventCounts['connection-opened']).toBe(2);
  });
});
