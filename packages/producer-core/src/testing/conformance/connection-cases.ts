import assert from 'node:assert/strict';
import {
  defineCase,
  defineTransportCase,
  delay,
  patientTimeoutMs,
  RawProducer,
  rejectsAsTransportError,
} from './case-support.ts';
import type { ConformanceCase } from './environment.ts';

/** Metadata, producer ids, connecting and closing. */
export const connectionCases: readonly ConformanceCase[] = [
  defineTransportCase(
    ['T5'],
    'metadata names brokers, partitions in order, and leaders',
    [],
    async (transport, environment) => {
      const topic = await environment.createTopic({ partitions: 3 });
      const { brokers, topics } = await transport.metadata([topic]);
      assert.deepEqual(
        topics.map((entry) => entry.topic),
        [topic],
      );
      assert.equal(topics[0]!.errorCode, 0);
      assert.deepEqual(
        topics[0]!.partitions.map((entry) => entry.partition),
        [0, 1, 2],
      );
      for (const { errorCode, leader } of topics[0]!.partitions) {
        assert.equal(errorCode, 0);
        assert.ok(
          brokers.some(({ brokerId }) => brokerId === leader),
          `leader ${leader} is one of the brokers`,
        );
      }
    },
  ),

  defineTransportCase(
    ['T5'],
    'metadata of a missing topic comes back as its error code, beside the topics that exist, and does not make it',
    [],
    async (transport, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const missing = `${topic}-missing`;
      for (let round = 0; round < 2; round++) {
        const { topics } = await transport.metadata([topic, missing]);
        assert.equal(topics.length, 2);
        const found = topics.find((entry) => entry.topic === missing);
        assert.equal(found?.errorCode, 3, 'UNKNOWN_TOPIC_OR_PARTITION');
        assert.deepEqual(found.partitions, []);
        assert.equal(topics.find((entry) => entry.topic === topic)?.errorCode, 0);
      }
    },
  ),

  defineTransportCase(['T5'], 'metadata of no topic still names the brokers', [], async (transport) => {
    const { brokers, topics } = await transport.metadata([]);
    assert.ok(brokers.length > 0);
    assert.deepEqual(topics, []);
  }),

  defineTransportCase(
    ['M1', 'T5'],
    'producer ids asked for at once are all different, with epoch 0',
    [],
    async (transport) => {
      const identities = await Promise.all(Array.from({ length: 40 }, () => transport.initProducerId()));
      assert.equal(new Set(identities.map(({ producerId }) => producerId)).size, 40);
      for (const { producerId, epoch } of identities) {
        assert.ok(producerId >= 0n);
        assert.equal(epoch, 0);
      }
    },
  ),

  defineCase(
    ['T2'],
    'connect rejects when no broker can be reached, and close works after it',
    [],
    async (environment) => {
      const transport = environment.createUnreachableTransport();
      await rejectsAsTransportError(transport.connect(), 'connect');
      await transport.close();
    },
  ),

  defineCase(['T2'], 'connect with a signal that is aborted rejects', [], async (environment) => {
    const transport = environment.createTransport();
    await assert.rejects(transport.connect(AbortSignal.abort()));
    await transport.close();
  }),

  defineTransportCase(
    ['T2'],
    'close twice is fine, and every call after it rejects with nothing sent',
    [],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      await Promise.all([transport.close(), transport.close()]);
      await transport.close();
      const attempts: [string, Promise<unknown>][] = [
        ['produce', producer.send(producer.batch(0, ['late']))],
        ['metadata', transport.metadata([producer.topic])],
        ['initProducerId', transport.initProducerId()],
      ];
      for (const [what, attempt] of attempts) {
        assert.equal((await rejectsAsTransportError(attempt, `${what} after close`)).sent, 'no');
      }
      assert.deepEqual(await producer.values(), []);
    },
  ),

  defineTransportCase(
    ['T2', 'P15'],
    'close ends requests that wait for an answer: each rejects, at once, as maybe sent',
    ['hold-replies'],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      const held = environment.faults.holdReplies({ api: 'produce', times: 10 });
      const waiting = [0, 1, 2].map((sequence) => producer.send(producer.batch(sequence, [`v${sequence}`])));
      const outcomes = Promise.all(waiting.map((attempt) => rejectsAsTransportError(attempt, 'produce before close')));
      while (held.count === 0) await delay(environment, 5);
      const closedAtMs = environment.runtime.monotonicMs();
      await transport.close();
      const errors = await outcomes;
      assert.ok(
        environment.runtime.monotonicMs() - closedAtMs < patientTimeoutMs / 2 + environment.slackMs,
        'does not wait for their timeouts',
      );
      assert.equal(errors[0]!.sent, 'maybe');
    },
  ),

  defineTransportCase(['T2'], 'a broker that does not exist: nothing sent', [], async (transport, environment) => {
    const producer = await RawProducer.create(environment, transport);
    const attempt = transport.produce(987_654, producer.request(producer.batch(0, ['nowhere'])));
    assert.equal((await rejectsAsTransportError(attempt, 'produce')).sent, 'no');
  }),

  defineTransportCase(
    ['T2', 'T4'],
    'a killed broker: requests reject within their timeout, and work again after its restart without a new transport',
    ['kill-brokers'],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      assert.equal((await producer.send(producer.batch(0, ['before']))).errorCode, 0);
      await environment.killBroker(producer.brokerId);
      await rejectsAsTransportError(
        producer.send(producer.batch(1, ['during']), { timeoutMs: 2000 }),
        'while it is down',
      );
      const error = await rejectsAsTransportError(
        producer.send(producer.batch(1, ['during']), { timeoutMs: 2000 }),
        'while it is known to be down',
      );
      assert.equal(error.sent, 'no', 'nobody listens, so no byte left');
      await environment.restartBroker(producer.brokerId);
      assert.equal((await producer.send(producer.batch(1, ['after']))).errorCode, 0);
      assert.deepEqual(await producer.values(), ['before', 'after']);
    },
  ),
];
