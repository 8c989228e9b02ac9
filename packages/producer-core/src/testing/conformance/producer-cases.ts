import assert from 'node:assert/strict';
import { BufferFullError, DeliveryError, ProducerClosedError, RecordTooLargeError } from '../../errors.ts';
import { delay, eventually, patientTimeoutMs } from './case-support.ts';
import type { ConformanceCase } from './environment.ts';
import {
  assertAcknowledgedStoredOnceInOrder,
  assertStoredOnceInOrder,
  defineProducerCase,
  sendEach,
  valuesFrom,
} from './producer-support.ts';

/** The real producer over the transport: what an application relies on. */
export const producerCases: readonly ConformanceCase[] = [
  defineProducerCase(
    ['C2', 'P1', 'P22'],
    'ten thousand sends at once are all acknowledged, stored once and in order',
    [],
    { requestTimeoutMs: 10_000 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      await assertStoredOnceInOrder(environment, topic, await sendEach(producer, topic, valuesFrom(0, 10_000)));
    },
  ),

  defineProducerCase(
    ['P2'],
    'twenty sends at once each get an offset of their own',
    [],
    {},
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const outcomes = await sendEach(producer, topic, valuesFrom(0, 20));
      assert.equal(new Set(outcomes.map(({ metadata }) => metadata?.offset)).size, 20);
      await assertStoredOnceInOrder(environment, topic, outcomes);
    },
  ),

  defineProducerCase(
    ['C4', 'P13'],
    'several partitions, several rounds: each partition keeps its own order',
    [],
    {},
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 3 });
      const rounds = [0, 1, 2, 3].map((round) =>
        Promise.all(
          [0, 1, 2].map((partition) =>
            sendEach(
              producer,
              topic,
              valuesFrom(round * 50, 50).map((value) => `${partition}:${value}`),
              partition,
            ),
          ),
        ),
      );
      await assertStoredOnceInOrder(environment, topic, (await Promise.all(rounds)).flat(2));
    },
  ),

  defineProducerCase(
    ['C3', 'P9', 'P11'],
    'a lost reply: the repeat is recognised, and each record has the offset at which it was stored first',
    ['lose-replies'],
    {},
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const before = await sendEach(producer, topic, valuesFrom(0, 3));
      environment.faults.loseReplies({ api: 'produce', times: 1 });
      const outcomes = await sendEach(producer, topic, valuesFrom(3, 4));
      assert.deepEqual(
        outcomes.map(({ metadata }) => metadata?.offset),
        [3n, 4n, 5n, 6n],
      );
      await assertStoredOnceInOrder(environment, topic, [...before, ...outcomes]);
    },
  ),

  defineProducerCase(
    ['C3', 'C6', 'P8', 'P23'],
    'many replies lost while batches keep coming: all stored once and in order',
    ['lose-replies'],
    { batchSize: 512 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const before = await sendEach(producer, topic, valuesFrom(0, 100));
      environment.faults.loseReplies({ api: 'produce', times: 12 });
      const after = await sendEach(producer, topic, valuesFrom(100, 400));
      await assertStoredOnceInOrder(environment, topic, [...before, ...after]);
    },
  ),

  defineProducerCase(
    ['C3', 'C6'],
    'many requests lost on the way: all stored once and in order',
    ['lose-requests'],
    { batchSize: 512 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const before = await sendEach(producer, topic, valuesFrom(0, 100));
      environment.faults.loseRequests({ api: 'produce', times: 12 });
      const after = await sendEach(producer, topic, valuesFrom(100, 400));
      await assertStoredOnceInOrder(environment, topic, [...before, ...after]);
    },
  ),

  defineProducerCase(
    ['C3', 'C4', 'C7'],
    'connections reset before and after the broker acts, again and again: all stored once and in order',
    ['reset-connections'],
    { batchSize: 512 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 2 });
      const outcomes = [];
      for (let round = 0; round < 6; round++) {
        environment.faults.resetOnReply({ api: 'produce', times: 1 });
        const first = sendEach(producer, topic, valuesFrom(round * 100, 50), 0);
        const second = sendEach(
          producer,
          topic,
          valuesFrom(round * 100, 50).map((value) => `other ${value}`),
          1,
        );
        environment.faults.resetOnRequest({ api: 'produce', times: 1 });
        outcomes.push(...(await first), ...(await second));
      }
      await assertStoredOnceInOrder(environment, topic, outcomes);
    },
  ),

  defineProducerCase(
    ['C4', 'P13'],
    'one request in flight and lost replies: order holds',
    ['lose-replies'],
    { batchSize: 512, maxInFlight: 1 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      environment.faults.loseReplies({ api: 'produce', times: 3 });
      await assertStoredOnceInOrder(environment, topic, await sendEach(producer, topic, valuesFrom(0, 200)));
    },
  ),

  defineProducerCase(
    ['C8', 'C9', 'P5'],
    'a delivery timeout after an unanswered request says unknown; later records follow without loss, repeat or gap',
    ['lose-replies'],
    { requestTimeoutMs: 300, deliveryTimeoutMs: 800 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const before = await sendEach(producer, topic, valuesFrom(0, 5));
      environment.faults.loseReplies({ api: 'produce', times: 1000 });
      const during = await sendEach(producer, topic, valuesFrom(5, 5));
      for (const { error } of during) {
        assert.ok(error instanceof DeliveryError && error.code === 'DELIVERY_TIMEOUT', `not ${String(error)}`);
        assert.equal(error.fate, 'unknown');
      }
      environment.faults.clear();
      const after = await sendEach(producer, topic, valuesFrom(10, 50));
      for (const { error } of after) assert.equal(error, undefined);
      await assertAcknowledgedStoredOnceInOrder(environment, topic, [...before, ...during, ...after]);
    },
  ),

  defineProducerCase(
    ['C8'],
    'a record that never left fails as not stored when its time is over',
    ['hold-replies'],
    { requestTimeoutMs: 400, deliveryTimeoutMs: 600, maxInFlight: 1 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      await sendEach(producer, topic, ['first']);
      environment.faults.holdReplies({ api: 'produce', times: 1000 });
      const inFlight = sendEach(producer, topic, ['in flight']);
      await delay(environment, 20);
      const behind = await sendEach(producer, topic, ['behind']);
      assert.ok(behind[0]!.error instanceof DeliveryError && behind[0]!.error.fate === 'not-stored');
      await inFlight;
      environment.faults.clear();
      const records = await environment.readPartition(topic, 0);
      assert.ok(records.every(({ value }) => Buffer.from(value!).toString() !== 'behind'));
    },
  ),

  defineProducerCase(
    ['P14', 'P16'],
    'after the broker was killed and restarted the same producer goes on',
    ['kill-brokers'],
    { requestTimeoutMs: 1000 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const before = await sendEach(producer, topic, valuesFrom(0, 50));
      const probe = environment.createTransport();
      await probe.connect();
      const leader = (await probe.metadata([topic])).topics[0]!.partitions[0]!.leader;
      await probe.close();
      await environment.killBroker(leader);
      const during = sendEach(producer, topic, valuesFrom(50, 50));
      await delay(environment, 500);
      await environment.restartBroker(leader);
      const after = sendEach(producer, topic, valuesFrom(100, 50));
      await assertStoredOnceInOrder(environment, topic, [...before, ...(await during), ...(await after)]);
    },
  ),

  defineProducerCase(
    ['C7', 'P3', 'P7'],
    'leaders move while records flow: all stored once and in order in every partition',
    ['several-brokers', 'move-leaders'],
    { batchSize: 512, requestTimeoutMs: 5000 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 2, replicationFactor: 3 });
      const sends = [];
      for (let round = 0; round < 4; round++) {
        for (const partition of [0, 1]) {
          sends.push(
            sendEach(
              producer,
              topic,
              valuesFrom(round * 60, 60).map((value) => `${partition}:${value}`),
              partition,
            ),
          );
        }
        await environment.moveLeader(topic, round % 2);
      }
      await assertStoredOnceInOrder(environment, topic, (await Promise.all(sends)).flat());
    },
  ),

  defineProducerCase(
    ['C11', 'P20'],
    'the broker forgot the producer: it recovers without loss or repeat',
    ['forget-producers'],
    {},
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const before = await sendEach(producer, topic, valuesFrom(0, 20));
      await environment.forgetProducers(topic, 0);
      const after = await sendEach(producer, topic, valuesFrom(20, 20));
      await assertStoredOnceInOrder(environment, topic, [...before, ...after]);
    },
  ),

  defineProducerCase(
    ['C11'],
    'a batch over the topic’s limit is split and stored in order; a record over it fails alone',
    [],
    { batchSize: 16_384 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1, maxMessageBytes: 2000 });
      const filler = 'x'.repeat(200);
      const small = (first: number, count: number): string[] =>
        valuesFrom(first, count).map((value) => `${value} ${filler}`);
      const first = await sendEach(producer, topic, small(0, 60));
      const mixed = await sendEach(producer, topic, [...small(60, 10), 'y'.repeat(4000), ...small(70, 10)]);
      const [tooLarge] = mixed.splice(10, 1);
      assert.ok(tooLarge!.error instanceof RecordTooLargeError, `not ${String(tooLarge!.error)}`);
      assert.equal(tooLarge!.error.fate, 'not-stored');
      await assertStoredOnceInOrder(environment, topic, [
        ...first,
        ...mixed,
        ...(await sendEach(producer, topic, small(80, 5))),
      ]);
    },
  ),

  defineProducerCase(
    ['C14', 'P18'],
    'full memory refuses in time, and opens again when answers come',
    ['hold-replies'],
    { bufferMemory: 16_384, maxRequestSize: 8192, batchSize: 4096, maxBlockMs: 300, requestTimeoutMs: 20_000 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      await sendEach(producer, topic, ['first']);
      const held = environment.faults.holdReplies({ api: 'produce', times: 1000 });
      const large = valuesFrom(0, 40).map((value) => `${value} ${'x'.repeat(1000)}`);
      const outcomes = sendEach(producer, topic, large);
      await eventually(environment, 'answers are held', () => held.count > 0);
      await delay(environment, 1000);
      environment.faults.clear();
      const settled = await outcomes;
      const refused = settled.filter(({ error }) => error !== undefined);
      assert.ok(refused.length > 0 && refused.length < large.length, `${refused.length} refused`);
      for (const { error } of refused) assert.ok(error instanceof BufferFullError, `not ${String(error)}`);
      await assertAcknowledgedStoredOnceInOrder(environment, topic, settled);
      const after = await sendEach(producer, topic, valuesFrom(100, 5));
      for (const { error } of after) assert.equal(error, undefined);
    },
  ),

  defineProducerCase(
    ['C13', 'P15', 'P17'],
    'close ends within its limit although no answer comes, and reports each record with its fate',
    ['lose-replies'],
    { requestTimeoutMs: patientTimeoutMs, deliveryTimeoutMs: 2 * patientTimeoutMs },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      await sendEach(producer, topic, ['first']);
      environment.faults.loseReplies({ api: 'produce', times: 1000 });
      const pending = sendEach(producer, topic, valuesFrom(0, 10));
      await delay(environment, 50);
      const startMs = environment.runtime.monotonicMs();
      await producer.close({ timeoutMs: 300 });
      assert.ok(environment.runtime.monotonicMs() - startMs <= 300 + 200 + environment.slackMs);
      for (const { error } of await pending) assert.ok(error instanceof DeliveryError, `not ${String(error)}`);
      const late = await sendEach(producer, topic, ['late']);
      assert.ok(late[0]!.error instanceof ProducerClosedError);
    },
  ),

  defineProducerCase(
    ['C13', 'P17'],
    'close flushes what is pending',
    [],
    { lingerMs: 400 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const pending = sendEach(producer, topic, valuesFrom(0, 500));
      await producer.close();
      await assertStoredOnceInOrder(environment, topic, await pending);
    },
  ),
];
