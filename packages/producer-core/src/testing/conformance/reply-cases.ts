import assert from 'node:assert/strict';
import {
  AuthorizationError,
  DeliveryError,
  ProducerClosedError,
  ProducerFencedError,
  RecordTooLargeError,
} from '../../errors.ts';
import { protocolErrorCodes as code, protocolErrorName } from '../../transport/protocol-errors.ts';
import type { ConformanceCase, ForgedAnswer } from './environment.ts';
import {
  assertAcknowledgedStoredOnceInOrder,
  assertStoredOnceInOrder,
  defineProducerCase,
  sendEach,
  valuesFrom,
} from './producer-support.ts';

/** The error is shown once: the record is acknowledged all the same, stored once and in order. */
function survives(errorCode: number, answer: Omit<ForgedAnswer, 'errorCode'>): ConformanceCase {
  const when = answer.carriedOut ? 'after the broker stored the batch' : 'and the broker did nothing';
  return defineProducerCase(
    ['C11'],
    `${protocolErrorName(errorCode)} answered once ${when}: stored once, in order`,
    ['answer-errors'],
    { batchSize: 512 },
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const before = await sendEach(producer, topic, valuesFrom(0, 10));
      environment.faults.answer({ api: 'produce', times: 1 }, { errorCode, ...answer });
      const after = await sendEach(producer, topic, valuesFrom(10, 100));
      await assertStoredOnceInOrder(environment, topic, [...before, ...after]);
    },
  );
}

/** The error is shown once: the records of that batch fail, everything after it is stored. */
function failsBatch(errorCode: number, errorClass: new (...args: never[]) => DeliveryError): ConformanceCase {
  return defineProducerCase(
    ['C11', 'C9'],
    `${protocolErrorName(errorCode)} fails the batch with its reason, and the partition goes on`,
    ['answer-errors'],
    {},
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      const before = await sendEach(producer, topic, valuesFrom(0, 10));
      environment.faults.answer({ api: 'produce', times: 1 }, { errorCode, carriedOut: false });
      const refused = await sendEach(producer, topic, ['refused']);
      const { error } = refused[0]!;
      assert.ok(error instanceof errorClass, `a ${errorClass.name}, not ${String(error)}`);
      assert.ok(error.message.includes(protocolErrorName(errorCode)), `the message names the answer: ${error.message}`);
      const after = await sendEach(producer, topic, valuesFrom(20, 20));
      for (const outcome of after) assert.equal(outcome.error, undefined);
      await assertAcknowledgedStoredOnceInOrder(environment, topic, [...before, ...refused, ...after]);
      const values = (await environment.readPartition(topic, 0)).map(({ value }) => Buffer.from(value!).toString());
      assert.ok(!values.includes('refused'));
    },
  );
}

function stopsProducer(errorCode: number): ConformanceCase {
  return defineProducerCase(
    ['C11', 'C13'],
    `${protocolErrorName(errorCode)} stops the producer: what is pending fails, and later sends at once`,
    ['answer-errors'],
    {},
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 2 });
      await sendEach(producer, topic, valuesFrom(0, 10));
      environment.faults.answer({ api: 'produce', times: 1 }, { errorCode, carriedOut: false });
      const pending = await sendEach(producer, topic, valuesFrom(10, 10));
      for (const { error } of pending) assert.ok(error instanceof ProducerFencedError, `not ${String(error)}`);
      const late = await sendEach(producer, topic, ['late']);
      assert.ok(late[0]!.error instanceof ProducerClosedError, `not ${String(late[0]!.error)}`);
    },
  );
}

const retriableBefore = [
  code.CORRUPT_MESSAGE,
  code.UNKNOWN_TOPIC_OR_PARTITION,
  code.LEADER_NOT_AVAILABLE,
  code.NOT_LEADER_OR_FOLLOWER,
  code.REQUEST_TIMED_OUT,
  code.BROKER_NOT_AVAILABLE,
  code.REPLICA_NOT_AVAILABLE,
  code.NETWORK_EXCEPTION,
  code.COORDINATOR_LOAD_IN_PROGRESS,
  code.NOT_ENOUGH_REPLICAS,
  code.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  code.KAFKA_STORAGE_ERROR,
  code.FENCED_LEADER_EPOCH,
  code.UNKNOWN_LEADER_EPOCH,
  code.THROTTLING_QUOTA_EXCEEDED,
  code.UNKNOWN_TOPIC_ID,
  code.INCONSISTENT_TOPIC_ID,
  code.OUT_OF_ORDER_SEQUENCE_NUMBER,
  code.UNKNOWN_PRODUCER_ID,
];

/** What a broker also answers for a batch that is in its log. */
const retriableAfter = [
  code.NOT_LEADER_OR_FOLLOWER,
  code.LEADER_NOT_AVAILABLE,
  code.REQUEST_TIMED_OUT,
  code.NETWORK_EXCEPTION,
  code.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  code.KAFKA_STORAGE_ERROR,
  code.UNKNOWN_TOPIC_OR_PARTITION,
  code.DUPLICATE_SEQUENCE_NUMBER,
];

const refused = [
  code.UNKNOWN_SERVER_ERROR,
  code.INVALID_RECORD,
  code.INVALID_TIMESTAMP,
  code.INVALID_TOPIC_EXCEPTION,
  code.INVALID_REQUIRED_ACKS,
  code.INVALID_REQUEST,
  code.POLICY_VIOLATION,
  code.UNSUPPORTED_VERSION,
  code.UNSUPPORTED_FOR_MESSAGE_FORMAT,
  code.UNSUPPORTED_COMPRESSION_TYPE,
  code.INVALID_TXN_STATE,
  code.INVALID_PRODUCER_ID_MAPPING,
  9999,
];

const denied = [
  code.TOPIC_AUTHORIZATION_FAILED,
  code.CLUSTER_AUTHORIZATION_FAILED,
  code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
];

/** Rule C11, row by row, as far as a broker (or somebody in between) can be made to answer so. */
export const replyCases: readonly ConformanceCase[] = [
  ...retriableBefore.map((errorCode) => survives(errorCode, { carriedOut: false })),
  ...retriableAfter.map((errorCode) => survives(errorCode, { carriedOut: true })),
  ...refused.map((errorCode) => failsBatch(errorCode, DeliveryError)),
  ...denied.map((errorCode) => failsBatch(errorCode, AuthorizationError)),
  failsBatch(code.MESSAGE_TOO_LARGE, RecordTooLargeError),
  failsBatch(code.RECORD_LIST_TOO_LARGE, RecordTooLargeError),
  stopsProducer(code.INVALID_PRODUCER_EPOCH),
  stopsProducer(code.PRODUCER_FENCED),

  defineProducerCase(
    ['C11'],
    'an answer that the topic is unknown, again and again, fails the batch and names what to do',
    ['answer-errors'],
    {},
    async (producer, environment) => {
      const topic = await environment.createTopic({ partitions: 1 });
      environment.faults.answer(
        { api: 'produce', times: 1000 },
        { errorCode: code.UNKNOWN_TOPIC_OR_PARTITION, carriedOut: false },
      );
      const [outcome] = await sendEach(producer, topic, ['nowhere']);
      assert.ok(
        outcome!.error instanceof DeliveryError && outcome!.error.code === 'UNKNOWN_TOPIC',
        `not ${String(outcome!.error)}`,
      );
      environment.faults.clear();
      await assertStoredOnceInOrder(environment, topic, await sendEach(producer, topic, valuesFrom(0, 5)));
    },
  ),
];
