import fc from 'fast-check';
import { expect, it } from 'vitest';
import { simulateCluster } from './simulated-cluster.testkit.ts';

it('M1: each broker gives out the ids of its own block', async () => {
  const { runtime, cluster, transport } = simulateCluster({ brokers: 2, producerIdBlockSize: 10 });
  const ask = async () => (await runtime.runUntilSettled(transport.initProducerId())).producerId;
  expect([await ask(), await ask()]).toEqual([0n, 1n]);
  cluster.broker(1).kill();
  expect(await ask()).toBe(10n);
});

it('M1: what was left of a block is not used after a restart of the broker', async () => {
  const { runtime, cluster, transport } = simulateCluster({ producerIdBlockSize: 10 });
  const ask = async () => (await runtime.runUntilSettled(transport.initProducerId())).producerId;
  expect(await ask()).toBe(0n);
  cluster.broker(1).restart();
  expect(await ask()).toBe(10n);
});

it('M1: a broker that waits for a block answers COORDINATOR_LOAD_IN_PROGRESS', async () => {
  const { runtime, cluster, transport } = simulateCluster({ producerIdBlockSize: 1, producerIdBlockDelayMs: 50 });
  const ask = () => runtime.runUntilSettled(transport.initProducerId());
  await expect(ask()).rejects.toMatchObject({ errorCode: 14, retriable: true });
  await expect(ask()).rejects.toMatchObject({ errorCode: 14 });
  await runtime.advance(50);
  expect(await ask()).toEqual({ producerId: 0n, epoch: 0 });
  await expect(ask()).rejects.toMatchObject({ errorCode: 14 });
  cluster.faults.delayProducerIdBlocks(1_000);
  await runtime.advance(50);
  expect(await ask()).toEqual({ producerId: 1n, epoch: 0 });
  await expect(ask()).rejects.toMatchObject({ errorCode: 14 });
  await runtime.advance(999);
  await expect(ask()).rejects.toMatchObject({ errorCode: 14 });
  await runtime.advance(1);
  expect(await ask()).toEqual({ producerId: 2n, epoch: 0 });
});

it('M1: a block on its way when the controller restarts is lost, and its ids are never given', async () => {
  const { runtime, cluster, transport } = simulateCluster({ producerIdBlockSize: 5, producerIdBlockDelayMs: 50 });
  const ask = () => runtime.runUntilSettled(transport.initProducerId());
  await expect(ask()).rejects.toMatchObject({ errorCode: 14 });
  cluster.restartController();
  await runtime.advance(50);
  await expect(ask()).rejects.toMatchObject({ errorCode: 14 });
  await runtime.advance(50);
  expect((await ask()).producerId).toBe(5n);
});

it('M1: a block on its way to a broker that restarts is lost as well', async () => {
  const { runtime, cluster, transport } = simulateCluster({ producerIdBlockSize: 5, producerIdBlockDelayMs: 50 });
  const ask = () => runtime.runUntilSettled(transport.initProducerId());
  await expect(ask()).rejects.toMatchObject({ errorCode: 14 });
  await runtime.advance(20);
  cluster.broker(1).restart();
  await expect(ask()).rejects.toMatchObject({ errorCode: 14 });
  await runtime.advance(30);
  await expect(ask()).rejects.toMatchObject({ errorCode: 14 });
  await runtime.advance(20);
  expect((await ask()).producerId).toBe(5n);
});

it('M1: no id is given twice, whatever restarts', async () => {
  const action = fc.constantFrom('ask', 'ask', 'ask', 'broker', 'controller', 'wait', 'kill');
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60 }), fc.nat(), async (actions, seed) => {
      const { runtime, cluster, transport } = simulateCluster(
        { brokers: 3, producerIdBlockSize: 3, producerIdBlockDelayMs: { minMs: 0, maxMs: 20 } },
        seed,
      );
      const given: bigint[] = [];
      for (const each of actions) {
        const brokerId = 1 + Math.floor(runtime.random() * 3);
        if (each === 'broker') cluster.broker(brokerId).restart();
        else if (each === 'kill') cluster.broker(brokerId).kill();
        else if (each === 'controller') cluster.restartController();
        else if (each === 'wait') await runtime.advance(5);
        else {
          const asked = transport.initProducerId().then(
            ({ producerId }) => void given.push(producerId),
            () => {},
          );
          await runtime.runUntilSettled(asked);
        }
      }
      expect(new Set(given).size).toBe(given.length);
    }),
    { numRuns: 200 },
  );
});
