import { expect, it } from 'vitest';
import { simulateCluster } from './simulated-cluster.testkit.ts';

it('M2: the tutorial’s worked example, number for number', async () => {
  const { runtime, cluster, transport, produce, send, eventsOf } = simulateCluster({
    brokers: 3,
    firstProducerId: 5001,
    producerIdBlockSize: 1,
    topics: { payments: { replicationFactor: 3, minInsyncReplicas: 2, firstOffset: 900 } },
  });
  const service = await runtime.runUntilSettled(transport.initProducerId());
  expect(service).toEqual({ producerId: 5001n, epoch: 0 });
  const { producerId } = service;

  expect(await produce({ producerId, baseSequence: 0, count: 4 })).toMatchObject({ errorCode: 0, baseOffset: 900n });

  cluster.faults.loseReply({ baseSequence: 4 });
  cluster.faults.loseRequest({ baseSequence: 6 });
  const unanswered = [
    send({ producerId, baseSequence: 4, count: 2 }),
    send({ producerId, baseSequence: 6, count: 3 }),
    send({ producerId, baseSequence: 9, count: 3 }),
  ];
  await runtime.settle();
  expect(await unanswered[2]).toMatchObject({ errorCode: 45 });
  expect(eventsOf('batch-refused')).toMatchObject([{ baseSequence: 9, expectedSequence: 6 }]);
  await expect(runtime.runUntilSettled(unanswered[0]!)).rejects.toMatchObject({ sent: 'maybe' });
  await expect(unanswered[1]).rejects.toMatchObject({ sent: 'maybe' });

  expect(await produce({ producerId, baseSequence: 4, count: 2 })).toMatchObject({ errorCode: 0, baseOffset: 904n });
  expect(await produce({ producerId, baseSequence: 6, count: 3 })).toMatchObject({ errorCode: 0, baseOffset: 906n });
  expect(await produce({ producerId, baseSequence: 9, count: 3 })).toMatchObject({ errorCode: 0, baseOffset: 909n });
  expect(eventsOf('batch-recognised')).toMatchObject([{ baseSequence: 4, baseOffset: 904 }]);

  cluster.faults.kill({ baseSequence: 12 }, 'after');
  await expect(produce({ producerId, baseSequence: 12, count: 2 })).rejects.toMatchObject({ sent: 'maybe' });
  expect(cluster.partition('payments', 0).leader).toBe(2);
  expect(await produce({ producerId, baseSequence: 12, count: 2, broker: 2 })).toMatchObject({
    errorCode: 0,
    baseOffset: 912n,
  });

  const restarted = await runtime.runUntilSettled(cluster.transport().initProducerId());
  expect(restarted).toEqual({ producerId: 5002n, epoch: 0 });
  expect(await produce({ producerId: 5002, baseSequence: 0, count: 1, broker: 2 })).toMatchObject({ baseOffset: 914n });
  expect(
    cluster
      .dump('payments', 0)
      .map(({ baseOffset, lastOffset, producerId: id, baseSequence, partitionLeaderEpoch }) => [
        baseOffset,
        lastOffset,
        id,
        baseSequence,
        partitionLeaderEpoch,
      ]),
  ).toEqual([
    [900, 903, 5001n, 0, 0],
    [904, 905, 5001n, 4, 0],
    [906, 908, 5001n, 6, 0],
    [909, 911, 5001n, 9, 0],
    [912, 913, 5001n, 12, 0],
    [914, 914, 5002n, 0, 1],
  ]);
});
