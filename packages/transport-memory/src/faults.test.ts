import { describe, expect, it } from 'vitest';
import { produceOne } from './batches.testkit.ts';
import { simulateCluster } from './simulated-cluster.testkit.ts';

const lost = { name: 'TransportError', sent: 'maybe' };

describe('a fault', () => {
  it('loseRequest: nothing is stored, nobody answers', async () => {
    const { cluster, produce, eventsOf } = simulateCluster();
    cluster.faults.loseRequest();
    await expect(produce({ producerId: 1 })).rejects.toMatchObject(lost);
    expect(cluster.partition('payments', 0).logEndOffset).toBe(0);
    expect(eventsOf('request-lost')).toMatchObject([
      { brokerId: 1, api: 'produce', partitions: [{ topic: 'payments', partition: 0 }] },
    ]);
  });

  it('loseReply: stored, nobody answers, and the repeat is recognised', async () => {
    const { cluster, produce, eventsOf } = simulateCluster();
    cluster.faults.loseReply();
    await expect(produce({ producerId: 1, count: 3 })).rejects.toMatchObject(lost);
    expect(await produce({ producerId: 1, count: 3 })).toMatchObject({ errorCode: 0, baseOffset: 0n });
    expect(cluster.partition('payments', 0).logEndOffset).toBe(3);
    expect(eventsOf('reply-lost')).toHaveLength(1);
  });

  it('a lost reply leaves the connection open for the others', async () => {
    const { runtime, cluster, send } = simulateCluster();
    cluster.faults.loseReply({ baseSequence: 0 });
    void send({ producerId: 1, baseSequence: 0 });
    const second = send({ producerId: 1, baseSequence: 1 });
    await runtime.settle();
    expect(await second).toMatchObject({ errorCode: 0, baseOffset: 1n });
  });

  it('delay: of the request or of its reply', async () => {
    for (const by of [{ requestMs: 200 }, { replyMs: 200 }, { requestMs: 150, replyMs: 50 }]) {
      const { runtime, cluster, produce } = simulateCluster();
      cluster.faults.delay({}, by);
      expect(await produce({ producerId: 1 })).toMatchObject({ errorCode: 0 });
      expect(runtime.monotonicMs()).toBe(200);
    }
  });

  it('holdReplies: until they are released, and lost when nobody waits any more', async () => {
    const { runtime, cluster, send } = simulateCluster();
    const held = cluster.faults.holdReplies({ times: 2 });
    const first = send({ producerId: 1, baseSequence: 0 });
    const second = send({ producerId: 1, baseSequence: 1 });
    await runtime.settle();
    expect(held.count).toBe(2);
    held.release();
    expect(held.count).toBe(0);
    expect(await runtime.runUntilSettled(Promise.all([first, second]))).toMatchObject([
      { errorCode: 0 },
      { errorCode: 0 },
    ]);

    const again = cluster.faults.holdReplies();
    const late = send({ producerId: 1, baseSequence: 2 });
    await expect(runtime.runUntilSettled(late)).rejects.toMatchObject(lost);
    again.release();
    expect(await runtime.runUntilSettled(send({ producerId: 1, baseSequence: 3 }))).toMatchObject({ errorCode: 0 });
  });

  it('duplicate: the copy arrives, later if asked, and is recognised', async () => {
    for (const afterMs of [0, 3_000]) {
      const { runtime, cluster, produce, eventsOf } = simulateCluster();
      cluster.faults.duplicate({}, { afterMs });
      await produce({ producerId: 1 });
      await runtime.run();
      expect(eventsOf('batch-recognised')).toMatchObject([{ atMs: afterMs, baseOffset: 0 }]);
      expect(cluster.partition('payments', 0).logEndOffset).toBe(1);
    }
  });

  it('duplicate: without a producer id it is stored twice', async () => {
    const { runtime, cluster, produce } = simulateCluster();
    cluster.faults.duplicate();
    await produce({ producerId: -1 });
    await runtime.run();
    expect(cluster.partition('payments', 0).logEndOffset).toBe(2);
  });

  it('resetConnection: before it arrives, or after it was carried out; what was written before is carried out', async () => {
    for (const when of ['before', 'after'] as const) {
      const { runtime, cluster, send, eventsOf } = simulateCluster();
      cluster.faults.resetConnection({ baseSequence: 1 }, when);
      const sent = [0, 1, 2].map((baseSequence) => send({ producerId: 1, baseSequence }));
      await runtime.settle();
      expect(await sent[0]).toMatchObject({ errorCode: 0 });
      await expect(sent[1]).rejects.toMatchObject({ ...lost, code: 'CONNECTION_LOST' });
      await expect(sent[2]).rejects.toMatchObject({ sent: 'no' });
      expect(cluster.partition('payments', 0).logEndOffset).toBe(when === 'before' ? 1 : 2);
      expect(eventsOf('connection-reset')).toMatchObject([{ when }]);
    }
  });

  it('kill: before the broker looks at it, or after it is stored and replicated', async () => {
    for (const when of ['before', 'after'] as const) {
      const { cluster, produce } = simulateCluster({ brokers: 2, topics: { payments: { replicationFactor: 2 } } });
      cluster.faults.kill({}, when);
      await expect(produce({ producerId: 1 })).rejects.toMatchObject(lost);
      expect(cluster.broker(1).state).toBe('killed');
      expect(cluster.partition('payments', 0).logEndOffset).toBe(when === 'before' ? 0 : 1);
      expect(await produce({ producerId: 1, broker: 2 })).toMatchObject({ errorCode: 0, baseOffset: 0n });
    }
  });

  it('answerWith: any error, before or after the batch is stored, for the partitions that match', async () => {
    const { runtime, cluster, transport, eventsOf } = simulateCluster({ topics: { payments: { partitions: 3 } } });
    const { batchOf } = await import('./batches.testkit.ts');
    cluster.faults.answerWith(7, { partition: 0 }, { logStartOffset: 44n });
    cluster.faults.answerWith(19, { partition: 2 }, { when: 'after' });
    const partitions = [0, 1, 2].map((partition) => ({
      topic: 'payments',
      partition,
      batch: batchOf({ producerId: 1 }),
    }));
    const produced = transport.produce(1, { acks: 'all', timeoutMs: 1_000, partitions });
    expect(await runtime.runUntilSettled(produced)).toMatchObject([
      { partition: 0, errorCode: 7, logStartOffset: 44n },
      { partition: 1, errorCode: 0 },
      { partition: 2, errorCode: 19, baseOffset: -1n },
    ]);
    expect([0, 1, 2].map((partition) => cluster.partition('payments', partition).logEndOffset)).toEqual([0, 1, 1]);
    expect(eventsOf('error-injected')).toMatchObject([
      { errorCode: 7, when: 'before', partitions: [{ partition: 0 }] },
      { errorCode: 19, when: 'after', partitions: [{ partition: 2 }] },
    ]);
  });

  it('answerWith: for a request as a whole', async () => {
    const { runtime, cluster, transport } = simulateCluster();
    cluster.faults.answerWith(31, { api: 'initProducerId' });
    cluster.faults.answerWith(29, { api: 'metadata' });
    await expect(runtime.runUntilSettled(transport.initProducerId())).rejects.toMatchObject({
      name: 'ProtocolError',
      errorCode: 31,
      retriable: false,
    });
    await expect(runtime.runUntilSettled(transport.metadata([]))).rejects.toMatchObject({ errorCode: 29 });
    await runtime.runUntilSettled(transport.metadata([]));
  });
});

describe('a match', () => {
  it('by topic strikes a metadata request that asks about it, and no other', async () => {
    const { cluster, runtime, transport, eventsOf } = simulateCluster({ topics: { payments: {}, refunds: {} } });
    const ask = (...topics: string[]) => runtime.runUntilSettled(transport.metadata(topics));
    const armed = cluster.faults.loseReply({ api: 'metadata', topic: 'refunds', times: Number.POSITIVE_INFINITY });
    expect((await ask('payments')).topics).toMatchObject([{ topic: 'payments', errorCode: 0 }]);
    expect(armed.strikes).toBe(0);
    await expect(ask('payments', 'refunds')).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    expect(armed.strikes).toBe(1);
    armed.cancel();
    cluster.faults.answerWith(29, { api: 'metadata', topic: 'refunds', times: 2 });
    expect((await ask('payments')).topics).toMatchObject([{ errorCode: 0 }]);
    expect((await ask('payments', 'refunds')).topics).toMatchObject([
      { topic: 'payments', errorCode: 0, partitions: [{ partition: 0 }] },
      { topic: 'refunds', errorCode: 29, partitions: [] },
    ]);
    expect(eventsOf('error-injected')).toMatchObject([{ errorCode: 29, api: 'metadata' }]);
    await ask('refunds');
    expect((await ask('refunds')).topics).toMatchObject([{ errorCode: 0 }]);
  });

  it.each([
    [{ api: 'metadata', partition: 0 }, 'partition'],
    [{ api: 'metadata', baseSequence: 0 }, 'baseSequence'],
    [{ api: 'initProducerId', topic: 'payments' }, 'topic'],
    [{ api: 'initProducerId', partition: 0 }, 'partition'],
    [{ api: 'initProducerId', baseSequence: 3 }, 'baseSequence'],
  ] as const)('%j could match no request, and is refused', (match, field) => {
    expect(() => simulateCluster().cluster.faults.loseReply(match)).toThrow(
      expect.objectContaining({ name: 'ConfigError', fields: [field, 'api'] }),
    );
  });

  it('strikes once, or as often as asked, from the nth on', async () => {
    const { cluster, produce } = simulateCluster();
    const armed = cluster.faults.answerWith(7, { nth: 2, times: 2 });
    const answers = [];
    for (let n = 0; n < 4; n++) answers.push((await produce({ producerId: -1 })).errorCode);
    expect(answers).toEqual([0, 7, 7, 0]);
    expect(armed.strikes).toBe(2);
  });

  it('strikes until it is cancelled', async () => {
    const { cluster, produce } = simulateCluster();
    const armed = cluster.faults.answerWith(7, { times: Number.POSITIVE_INFINITY });
    for (let n = 0; n < 5; n++) expect((await produce({ producerId: -1 })).errorCode).toBe(7);
    armed.cancel();
    expect((await produce({ producerId: -1 })).errorCode).toBe(0);
  });

  it('by topic, partition, broker, base sequence and kind of request', async () => {
    const { runtime, cluster, transport, produce } = simulateCluster({
      brokers: 2,
      topics: { payments: { partitions: 2, replicationFactor: 2 }, refunds: { replicationFactor: 1 } },
    });
    const { faults } = cluster;
    faults.answerWith(7, { topic: 'refunds' });
    expect((await produce({ producerId: 1 })).errorCode).toBe(0);
    expect((await produce({ producerId: 1, topic: 'refunds' })).errorCode).toBe(7);
    faults.answerWith(7, { partition: 1 });
    expect((await produce({ producerId: 1, baseSequence: 1 })).errorCode).toBe(0);
    expect((await produce({ producerId: 1, partition: 1, broker: 2 })).errorCode).toBe(7);
    faults.answerWith(7, { broker: 2 });
    expect((await produce({ producerId: 1, baseSequence: 2 })).errorCode).toBe(0);
    expect((await produce({ producerId: 1, partition: 1, broker: 2 })).errorCode).toBe(7);
    faults.answerWith(7, { baseSequence: 4 });
    expect((await produce({ producerId: 1, baseSequence: 3 })).errorCode).toBe(0);
    expect((await produce({ producerId: 1, baseSequence: 4 })).errorCode).toBe(7);
    faults.answerWith(7);
    await runtime.runUntilSettled(transport.initProducerId());
    expect((await produce({ producerId: 1, baseSequence: 4 })).errorCode).toBe(7);
  });

  it.each([
    [{ topik: 'payments' }, /no option "topik"/],
    [{ partition: -1 }, /partition must be/],
    [{ nth: 0 }, /nth must be/],
    [{ times: Number.NaN }, /times must be/],
    [{ api: 'fetch' }, /api must be/],
  ])('%j is a ConfigError', (match, message) => {
    const { cluster } = simulateCluster();
    expect(() => cluster.faults.loseReply(match as object)).toThrow(message);
  });
});

describe('rates', () => {
  it('strike about as often as they say, and stop with clear', async () => {
    const { runtime, cluster, send } = simulateCluster();
    cluster.faults.rates({ loseRequest: 0.1, duplicate: 0.2, delayReply: 0.3, delayMs: 1 });
    const requests = 2_000;
    for (let n = 0; n < requests; n++) {
      void send({ producerId: -1, timeoutMs: 50 });
      if (n % 10 === 9) await runtime.run();
    }
    const { eventCounts } = cluster;
    expect(eventCounts['request-lost']! / requests).toBeCloseTo(0.1, 1);
    expect(eventCounts['request-duplicated']! / requests).toBeCloseTo(0.9 * 0.2, 1);
    cluster.faults.clear();
    for (let n = 0; n < 100; n++) await runtime.runUntilSettled(produceOne(cluster.transport(), { producerId: -1 }));
    expect(cluster.eventCounts['request-lost']).toBe(eventCounts['request-lost']);
  });

  it('above 1, or unknown, are a ConfigError', () => {
    const { cluster } = simulateCluster();
    expect(() => cluster.faults.rates({ loseReply: 1.5 })).toThrow(/loseReply must be a number from 0 to 1/);
    expect(() => cluster.faults.rates({ loseReplies: 1 } as object)).toThrow(/no option "loseReplies"/);
  });
});

describe('events', () => {
  it('a listener hears of everything, a broken one does not disturb the broker', async () => {
    const { cluster, produce } = simulateCluster();
    const heard: string[] = [];
    const uncaught: unknown[] = [];
    const collect = (error: unknown) => void uncaught.push(error);
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', collect);
    try {
      const stop = cluster.onEvent(() => {
        throw new Error('broken listener');
      });
      cluster.onEvent(({ type }) => void heard.push(type));
      expect(await produce({ producerId: 1 })).toMatchObject({ errorCode: 0 });
      stop();
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of others) process.on('uncaughtException', listener);
    }
    expect(heard).toEqual(['connection-opened', 'request-sent', 'batch-stored']);
    expect(uncaught).toHaveLength(3);
  });
});
