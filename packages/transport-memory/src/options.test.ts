import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMemoryCluster } from './cluster.ts';
import { simulateCluster } from './simulated-cluster.testkit.ts';

describe('createMemoryCluster', () => {
  it('needs nothing: one broker, no topics', () => {
    expect(createMemoryCluster().broker(1).state).toBe('running');
  });

  it.each([
    [{ broker: 3 }, 'broker'],
    [{ brokers: 0 }, 'brokers'],
    [{ brokers: 1.5 }, 'brokers'],
    [{ brokers: '3' }, 'brokers'],
    [{ brokers: Number.NaN }, 'brokers'],
    [{ profile: 'kafka-3' }, 'profile'],
    [{ topicIds: 'yes' }, 'topicIds'],
    [{ runtime: {} }, 'runtime'],
    [{ seed: -1 }, 'seed'],
    [{ topics: ['payments'] }, 'topics'],
    [{ topics: { '': {} } }, 'topic'],
    [{ topics: { 'a b': {} } }, 'topic'],
    [{ topics: { '..': {} } }, 'topic'],
    [{ topics: { ['x'.repeat(250)]: {} } }, 'topic'],
    [{ topics: { payments: { partitions: 0 } } }, 'partitions'],
    [{ topics: { payments: { replicas: 3 } } }, 'replicas'],
    [{ topics: { payments: { replicationFactor: 2 } } }, 'replicationFactor'],
    [{ brokers: 2, topics: { payments: { minInsyncReplicas: 3 } } }, 'minInsyncReplicas'],
    [{ topics: { payments: { timestampType: 'AppendTime' } } }, 'timestampType'],
    [{ topics: { payments: { retentionBytes: -1 } } }, 'retentionBytes'],
    [{ latencyMs: -1 }, 'latencyMs'],
    [{ latencyMs: Number.POSITIVE_INFINITY }, 'latencyMs'],
    [{ latencyMs: { minMs: 5, maxMs: 1 } }, 'latencyMs'],
    [{ latencyMs: { minMs: 5 } }, 'latencyMs.maxMs'],
    [{ topics: new Map([['payments', {}]]) }, 'topics'],
    [{ topics: { payments: new Map([['partitions', 3]]) } }, 'topic "payments"'],
    [{ codecs: [{}] }, 'codecs[0]'],
    [{ codecs: [{ name: 'mine', compress: () => {}, decompress: () => {} }] }, 'codecs[0].id'],
    [{ codecs: [{ id: 9, name: 'mine', compress: () => {}, decompress: () => {} }] }, 'codecs[0].id'],
    [{ producerIdBlockSize: 0 }, 'producerIdBlockSize'],
    [{ maxMessageBytes: 0 }, 'maxMessageBytes'],
  ])('%j is a ConfigError that names the field', (options, field) => {
    expect(() => createMemoryCluster(options as object)).toThrow(
      expect.objectContaining({ name: 'ConfigError', fields: expect.arrayContaining([field]) }),
    );
  });

  it.each([null, 3, [], new Map([['brokers', 3]])])('%o is no options object', (options) => {
    expect(() => createMemoryCluster(options as never)).toThrow(/must be a plain object/);
  });

  it('a transport checks its options too', () => {
    expect(() => createMemoryCluster().transport({ requestTimeout: 1 } as object)).toThrow(
      /no option "requestTimeout"/,
    );
    expect(() => createMemoryCluster().transport({ connectTimeoutMs: 0 })).toThrow(/connectTimeoutMs/);
  });
});

describe('C15: what is wrong is called what it is', () => {
  const { cluster } = simulateCluster({ brokers: 2, topics: { payments: { partitions: 2 } } });
  const partition = cluster.partition('payments', 0);

  it.each<[what: string, message: string, ask: () => unknown]>([
    [
      'a broker by text',
      'brokerId must be a whole number from 1 to 9007199254740991, not "1"',
      () => cluster.broker('1' as never),
    ],
    ['no broker', 'not undefined', () => cluster.broker(undefined as never)],
    ['a broker that is not there', 'there is no broker 9, only 1 to 2', () => cluster.broker(9)],
    ['a partition by text', 'partition must be a whole number', () => cluster.partition('payments', '0' as never)],
    ['a topic by number', 'topic must be a string that is not empty, not 5', () => cluster.partition(5 as never, 0)],
    ['a replica by text', 'brokerId must be a whole number', () => partition.log('1' as never)],
    ['a leader by text', 'brokerId must be a whole number', () => partition.moveLeader('2' as never)],
    ['an unclean leader by text', 'brokerId must be a whole number', () => partition.uncleanElection('2' as never)],
    ['records before NaN', 'offset must be a whole number', () => partition.deleteRecordsBefore(Number.NaN)],
    ['records before -1', 'not -1', () => partition.deleteRecordsBefore(-1)],
    ['records before a bigint', 'not 5n', () => partition.deleteRecordsBefore(5n as never)],
    [
      'more partitions by text',
      'partitions must be a whole number',
      () => cluster.addPartitions('payments', '3' as never),
    ],
    ['too many partitions', 'from 0 to 100000', () => cluster.addPartitions('payments', 1e9)],
    [
      'codecs by name',
      'codecs[0] must be a codec: an object with',
      () => createMemoryCluster({ codecs: ['gzip'] as never }),
    ],
    [
      'codecs as a promise',
      'not an object (Promise)',
      () => createMemoryCluster({ codecs: Promise.resolve([]) as never }),
    ],
    [
      'no topics to consume',
      'topics must be an array of topic names, 1 or more, not an empty array',
      () => cluster.consumer({ groupId: 'g', topics: [] }),
    ],
    [
      'a topic’s name that is none',
      'topics[1] must be a topic name, not "a b"',
      () => cluster.consumer({ groupId: 'g', topics: ['a', 'a b'] }),
    ],
    [
      'topics as a Map',
      'topics must be a plain object from topic names to options, not an object (Map)',
      () => createMemoryCluster({ topics: new Map() as never }),
    ],
    ['an error code by text', 'not "3"', () => cluster.faults.answerWith('3' as never)],
  ])('%s: %s', (_what, message, ask) => {
    expect(ask).toThrow(expect.objectContaining({ name: 'ConfigError', message: expect.stringContaining(message) }));
  });
});

describe('times longer than a platform’s timer', () => {
  it.each(['sessionTimeoutMs', 'electionDelayMs'] as const)('%s of 1e12 ms is waited for', (option) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const cluster = createMemoryCluster({ brokers: 2, topics: { payments: {} }, [option]: 1e12 });
    const partition = cluster.partition('payments', 0);
    const first = partition.leader;
    if (option === 'sessionTimeoutMs') cluster.broker(first).pause();
    else cluster.broker(first).kill();
    vi.advanceTimersByTime(1e12 - 1);
    expect(partition.leader).toBe(first);
    vi.advanceTimersByTime(1);
    expect(partition.leader).not.toBe(first);
  });
});

describe('what does not exist', () => {
  const { cluster } = simulateCluster({ brokers: 2, topics: { payments: { replicationFactor: 1 } } });

  it.each([
    ['a broker', () => cluster.broker(3)],
    ['a topic', () => cluster.partition('refunds', 0)],
    ['a partition', () => cluster.dump('payments', 1)],
    ['a replica', () => cluster.partition('payments', 0).log(2)],
    ['a topic to delete', () => cluster.deleteTopic('refunds')],
    ['a topic to grow', () => cluster.addPartitions('refunds', 3)],
  ])('%s is a ConfigError', (_, ask) => {
    expect(ask).toThrow(expect.objectContaining({ name: 'ConfigError' }));
  });
});

describe('topics', () => {
  it('can be made, grown and deleted; made again it has another id', async () => {
    const { runtime, cluster, transport, produce } = simulateCluster();
    const topicId = async () => (await runtime.runUntilSettled(transport.metadata(['refunds']))).topics[0]?.topicId;
    cluster.createTopic('refunds', { partitions: 2 });
    const first = await topicId();
    expect(() => cluster.createTopic('refunds')).toThrow(/exists/);
    cluster.addPartitions('refunds', 3);
    expect(() => cluster.addPartitions('refunds', 3)).toThrow(/must be larger/);
    expect(await produce({ topic: 'refunds', partition: 2, producerId: 1 })).toMatchObject({ errorCode: 0 });
    cluster.deleteTopic('refunds');
    expect(await produce({ topic: 'refunds', partition: 2, producerId: 1 })).toMatchObject({ errorCode: 3 });
    expect(await topicId()).toBeUndefined();
    cluster.createTopic('refunds', { partitions: 3 });
    expect(await topicId()).not.toBe(first);
    expect(await produce({ topic: 'refunds', partition: 2, producerId: 1, baseSequence: 1 })).toMatchObject({
      errorCode: 59,
    });
  });

  it('a request that waits for replicas of a deleted topic is answered', async () => {
    const { runtime, cluster, send } = simulateCluster({
      brokers: 2,
      topics: { payments: { replicationFactor: 2 } },
      replicationDelayMs: 100,
    });
    const sent = send({ producerId: 1 });
    await runtime.advance(50);
    cluster.deleteTopic('payments');
    expect(await runtime.runUntilSettled(sent)).toMatchObject({ errorCode: 6 });
  });

  it('nothing is acknowledged after a topic’s end, whatever its brokers had heard by then', async () => {
    const { runtime, cluster, send } = simulateCluster({
      brokers: 3,
      topics: { payments: { replicationFactor: 3 } },
      replicationDelayMs: 100,
      metadataDelayMs: 500,
    });
    await runtime.advance(1_000);
    const sent = send({ producerId: 1 });
    await runtime.advance(50);
    cluster.partition('payments', 0).moveLeader();
    cluster.deleteTopic('payments');
    cluster.createTopic('payments');
    expect(await runtime.runUntilSettled(sent)).toMatchObject({ errorCode: 6 });
  });

  it('a request that waits at a frozen broker for a topic that is deleted meanwhile ends with its time', async () => {
    const { runtime, cluster, send } = simulateCluster({
      brokers: 2,
      topics: { payments: { replicationFactor: 2 } },
      replicationDelayMs: 100,
    });
    const sent = send({ producerId: 1, timeoutMs: 1_000 });
    await runtime.advance(50);
    cluster.broker(1).pause();
    cluster.deleteTopic('payments');
    cluster.broker(1).resume();
    await expect(runtime.runUntilSettled(sent)).rejects.toThrow(/in time/);
  });

  it('with topic ids, a request for the former topic is refused, and one that names the topic is not', async () => {
    const { runtime, cluster, transport, produce } = simulateCluster({ profile: 'kafka-4' });
    const idNow = async () => (await runtime.runUntilSettled(transport.metadata(['payments']))).topics[0]!.topicId!;
    const former = await idNow();
    expect(await produce({ producerId: 1, topicId: former })).toMatchObject({ errorCode: 0 });
    cluster.deleteTopic('payments');
    expect(await produce({ producerId: 1, baseSequence: 1, topicId: former })).toMatchObject({ errorCode: 100 });
    cluster.createTopic('payments');
    expect(await produce({ producerId: 1, baseSequence: 1, topicId: former })).toMatchObject({ errorCode: 100 });
    expect(cluster.dump('payments', 0)).toEqual([]);
    const topicId = await idNow();
    expect(await produce({ producerId: 1, baseSequence: 1, topicId })).toMatchObject({ errorCode: 0, baseOffset: 0n });
    expect(await produce({ producerId: 2 })).toMatchObject({ errorCode: 0, baseOffset: 1n });
  });

  it.each([{}, { profile: 'kafka-4', topicIds: false }] as const)(
    'without topic ids (%o) it gets into the new one',
    async (options) => {
      const { runtime, cluster, transport, produce } = simulateCluster(options);
      const { topics } = await runtime.runUntilSettled(transport.metadata(['payments']));
      cluster.deleteTopic('payments');
      cluster.createTopic('payments');
      expect(await produce({ producerId: 1, topicId: topics[0]!.topicId! })).toMatchObject({ errorCode: 0 });
    },
  );

  it('what becomes of topics is told', () => {
    const { cluster, eventsOf } = simulateCluster({ topics: {} });
    cluster.createTopic('refunds', { partitions: 2 });
    cluster.addPartitions('refunds', 3);
    cluster.deleteTopic('refunds');
    expect(eventsOf('topic-created')).toMatchObject([{ topic: 'refunds', partitions: 2 }]);
    expect(eventsOf('partitions-added')).toMatchObject([{ topic: 'refunds', partitions: 3 }]);
    expect(eventsOf('topic-deleted')).toMatchObject([{ topic: 'refunds' }]);
  });

  it('M3: a topic’s own limit on the size of batches holds', async () => {
    const { produce } = simulateCluster({ topics: { payments: { maxMessageBytes: 100 } } });
    expect(await produce({ value: 'x'.repeat(10) })).toMatchObject({ errorCode: 0 });
    expect(await produce({ value: 'x'.repeat(100) })).toMatchObject({ errorCode: 10 });
  });

  it('a partition made while a broker is down is led by another, and the broker follows when it is back', () => {
    const { cluster } = simulateCluster({ brokers: 2 });
    cluster.broker(1).kill();
    cluster.createTopic('refunds', { replicationFactor: 2 });
    const partition = cluster.partition('refunds', 0);
    expect([partition.leader, partition.isr]).toEqual([2, [2]]);
    cluster.broker(1).restart();
    expect(partition.isr).toEqual([1, 2]);
  });
});

it('a dump has the fields that Kafka’s log dump has', async () => {
  const { cluster, produce } = simulateCluster();
  await produce({ producerId: 3, epoch: 1, baseSequence: 0, count: 2, timestampMs: 1_000 });
  await produce({ producerId: -1, epoch: -1, baseSequence: -1, timestampMs: 2_000 });
  const [first, second] = cluster.dump('payments', 0);
  expect(first).toEqual({
    baseOffset: 0,
    lastOffset: 1,
    count: 2,
    baseSequence: 0,
    lastSequence: 1,
    producerId: 3n,
    producerEpoch: 1,
    partitionLeaderEpoch: 0,
    isTransactional: false,
    isControl: false,
    position: 0,
    createTime: 1_000,
    size: 77,
    magic: 2,
    compresscodec: 'none',
    crc: expect.any(Number),
    isvalid: true,
  });
  expect(second).toMatchObject({ baseOffset: 2, baseSequence: -1, lastSequence: -1, producerId: -1n, position: 77 });
});
