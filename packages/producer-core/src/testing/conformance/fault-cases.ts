import assert from 'node:assert/strict';
import { protocolErrorCodes } from '../../transport/protocol-errors.ts';
import {
  defineTransportCase,
  eventually,
  patientTimeoutMs,
  RawProducer,
  rejectsAsTransportError,
} from './case-support.ts';
import type { ConformanceCase } from './environment.ts';

const timeoutMs = 400;

/** Requests and replies that get lost, late or cut off. */
export const faultCases: readonly ConformanceCase[] = [
  defineTransportCase(
    ['T2', 'T4'],
    'a request whose answer never comes rejects when its timeout passes, as maybe sent, and is stored',
    ['lose-replies'],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      environment.faults.loseReplies({ api: 'produce', times: 1 });
      const startMs = environment.runtime.monotonicMs();
      const error = await rejectsAsTransportError(producer.send(producer.batch(0, ['once']), { timeoutMs }), 'produce');
      const tookMs = environment.runtime.monotonicMs() - startMs;
      assert.equal(error.sent, 'maybe');
      assert.ok(tookMs >= timeoutMs - 20, `not before its time: ${tookMs} ms`);
      assert.ok(tookMs <= timeoutMs + 100 + environment.slackMs, `not long after it: ${tookMs} ms`);
      assert.deepEqual(await producer.values(), ['once']);
    },
  ),

  defineTransportCase(
    ['T1', 'T2'],
    'a request that is lost on the way rejects as maybe sent, and is not sent again by itself',
    ['lose-requests', 'count-traffic'],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      environment.faults.loseRequests({ api: 'produce', times: 1 });
      const seen = environment.faults.requestsSeen('produce');
      const error = await rejectsAsTransportError(producer.send(producer.batch(0, ['lost']), { timeoutMs }), 'produce');
      assert.equal(error.sent, 'maybe');
      assert.equal((await producer.send(producer.batch(0, ['again']))).baseOffset, 0n);
      assert.equal(environment.faults.requestsSeen('produce') - seen, 2);
      assert.deepEqual(await producer.values(), ['again']);
    },
  ),

  defineTransportCase(
    ['T4'],
    'after a timeout the next request uses a new connection, and the late reply is not taken for its own',
    ['hold-replies', 'count-traffic'],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      const held = environment.faults.holdReplies({ api: 'produce', times: 1 });
      await rejectsAsTransportError(producer.send(producer.batch(0, ['first']), { timeoutMs }), 'produce');
      await eventually(environment, 'the reply is held', () => held.count === 1);
      const connections = environment.faults.connectionsOpened();
      const second = producer.send(producer.batch(1, ['second', 'third']));
      const third = producer.send(producer.batch(3, ['fourth']));
      held.release();
      assert.equal((await second).baseOffset, 1n, 'the answer to the second request');
      assert.equal((await third).baseOffset, 3n, 'the answer to the third request');
      assert.ok(environment.faults.connectionsOpened() > connections, 'a new connection was opened');
      assert.deepEqual(await producer.values(), ['first', 'second', 'third', 'fourth']);
    },
  ),

  defineTransportCase(
    ['T4'],
    'a timeout ends every request that waits on the same connection, each as maybe sent',
    ['lose-replies'],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      environment.faults.loseReplies({ api: 'produce', times: 3 });
      const startMs = environment.runtime.monotonicMs();
      const errors = await Promise.all(
        [timeoutMs, patientTimeoutMs, patientTimeoutMs].map((requestTimeoutMs, sequence) =>
          rejectsAsTransportError(
            producer.send(producer.batch(sequence, [`v${sequence}`]), { timeoutMs: requestTimeoutMs }),
            `request ${sequence}`,
          ),
        ),
      );
      assert.ok(environment.runtime.monotonicMs() - startMs < patientTimeoutMs / 2 + environment.slackMs);
      assert.deepEqual(
        errors.map(({ sent }) => sent),
        ['maybe', 'maybe', 'maybe'],
      );
      assert.deepEqual(await producer.values(), ['v0', 'v1', 'v2']);
    },
  ),

  defineTransportCase(
    ['T2', 'P16'],
    'a reset in place of the request: it rejects at once as maybe sent, is not stored, and the next one goes through',
    ['reset-connections'],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      environment.faults.resetOnRequest({ api: 'produce', times: 1 });
      const startMs = environment.runtime.monotonicMs();
      const error = await rejectsAsTransportError(producer.send(producer.batch(0, ['cut off'])), 'produce');
      assert.equal(error.sent, 'maybe');
      assert.ok(environment.runtime.monotonicMs() - startMs < patientTimeoutMs / 2 + environment.slackMs, 'at once');
      assert.equal((await producer.send(producer.batch(0, ['through']))).baseOffset, 0n);
      assert.deepEqual(await producer.values(), ['through']);
    },
  ),

  defineTransportCase(
    ['T1', 'T2', 'P14'],
    'a reset in place of the reply: every request on the connection rejects, and a repeat is recognised',
    ['reset-connections'],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      environment.faults.resetOnReply({ api: 'produce', times: 1 });
      const batches = [0, 1, 2].map((sequence) => producer.batch(sequence, [`v${sequence}`]));
      const outcomes = await Promise.allSettled(batches.map((batch) => producer.send(batch)));
      assert.equal(outcomes[0]!.status, 'rejected');
      for (const batch of batches) {
        const { errorCode } = await producer.send(batch);
        assert.ok(
          errorCode === 0 || errorCode === protocolErrorCodes.DUPLICATE_SEQUENCE_NUMBER,
          `answered ${errorCode}`,
        );
      }
      assert.deepEqual(await producer.values(), ['v0', 'v1', 'v2']);
    },
  ),

  defineTransportCase(
    ['T2'],
    'a lost answer to metadata or initProducerId rejects in bounded time, and the next call works',
    ['reset-connections'],
    async (transport, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      environment.faults.resetOnReply({ api: 'metadata', times: 1 });
      await rejectsAsTransportError(transport.metadata([topic]), 'metadata');
      assert.equal((await transport.metadata([topic])).topics[0]?.errorCode, 0);
      environment.faults.resetOnReply({ api: 'initProducerId', times: 1 });
      await rejectsAsTransportError(transport.initProducerId(), 'initProducerId');
      assert.ok((await transport.initProducerId()).producerId >= 0n);
    },
  ),
];
