import { expect, it } from 'vitest';
import { simulateCluster } from './simulated-cluster.testkit.ts';

// Found by simulation: "A batch for offset 116 can't follow a log that ends at 119".
it('M6: a follower drops what its leader does not have before it copies, although the leader was frozen when it came back', async () => {
  const { runtime, cluster, send, produce, eventsOf } = simulateCluster({
    brokers: 2,
    topics: { payments: { replicationFactor: 2 } },
    sessionTimeoutMs: 60_000,
  });
  await produce({ producerId: 1, baseSequence: 0 });
  // Broker 1 stores three records that broker 2 never copies, and dies: broker 2 leads without them.
  cluster.broker(2).pause();
  void send({ producerId: 1, baseSequence: 1, count: 3, timeoutMs: 60_000 });
  await runtime.advance(10);
  cluster.broker(1).kill();
  cluster.broker(2).resume();
  await produce({ producerId: 2, baseSequence: 0, broker: 2 });
  // Broker 1 comes back while its leader is frozen with a request in its socket; the leader works on that before anything else.
  cluster.broker(2).pause();
  const sent = send({ producerId: 2, baseSequence: 1, count: 8, broker: 2, timeoutMs: 60_000 });
  await runtime.advance(10);
  cluster.broker(1).restart();
  cluster.broker(2).resume();
  expect(await runtime.runUntilSettled(sent)).toMatchObject({ errorCode: 0, baseOffset: 2n });
  const partition = cluster.partition('payments', 0);
  expect(eventsOf('log-truncated')).toMatchObject([{ brokerId: 1, toOffset: 1, recordsRemoved: 3 }]);
  expect(partition.batches(1)).toEqual(partition.batches(2));
  expect(partition.producerState(1)).toEqual(partition.producerState(2));
});

it('an answer that is injected after a batch was stored leaves refusals as they are', async () => {
  const { cluster, produce } = simulateCluster();
  cluster.faults.answerWith(46, {}, { when: 'after' });
  await produce({ producerId: 1, baseSequence: 0 });
  cluster.faults.answerWith(46, {}, { when: 'after' });
  expect(await produce({ producerId: 1, baseSequence: 9 })).toMatchObject({ errorCode: 45 });
  cluster.faults.clear();
  expect(await produce({ producerId: 1, baseSequence: 1 })).toMatchObject({ errorCode: 0, baseOffset: 1n });
});
