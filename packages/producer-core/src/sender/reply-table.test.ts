import { describe, expect, test } from 'vitest';
import { type ProtocolErrorName, protocolErrorCodes } from '../transport/protocol-errors.ts';
import { describeAnswer, isRetriableForIdentity, type ReplyRow, replyRow, replyTable } from './reply-table.ts';

const code = protocolErrorCodes;

/** Rule C11, written down a second time: what a producer does with each answer, and what the answered attempt may have stored. */
const expectedRows: readonly (readonly [ProtocolErrorName, ReplyRow['action'], ReplyRow['effect']])[] = [
  ['NONE', 'stored', 'stored'],
  ['DUPLICATE_SEQUENCE_NUMBER', 'duplicate', 'stored'],

  // The leader changed, or can't be reached: ask who leads. It may have appended before it lost the leadership.
  ['NOT_LEADER_OR_FOLLOWER', 'refresh-and-retry', 'maybe'],
  ['LEADER_NOT_AVAILABLE', 'refresh-and-retry', 'maybe'],
  ['REPLICA_NOT_AVAILABLE', 'refresh-and-retry', 'maybe'],
  ['BROKER_NOT_AVAILABLE', 'refresh-and-retry', 'maybe'],
  ['FENCED_LEADER_EPOCH', 'refresh-and-retry', 'maybe'],
  ['UNKNOWN_LEADER_EPOCH', 'refresh-and-retry', 'maybe'],
  ['KAFKA_STORAGE_ERROR', 'refresh-and-retry', 'maybe'],

  // A new topic takes a moment to be known everywhere; past a limit it is given up.
  ['UNKNOWN_TOPIC_OR_PARTITION', 'unknown-topic', 'maybe'],
  ['UNKNOWN_TOPIC_ID', 'unknown-topic', 'maybe'],
  ['INCONSISTENT_TOPIC_ID', 'unknown-topic', 'maybe'],

  // Passes by itself, after an append or before one.
  ['REQUEST_TIMED_OUT', 'retry', 'maybe'],
  ['NETWORK_EXCEPTION', 'retry', 'maybe'],
  ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'retry', 'maybe'],
  ['NOT_ENOUGH_REPLICAS', 'retry', 'none'],
  ['CORRUPT_MESSAGE', 'retry', 'none'],
  ['THROTTLING_QUOTA_EXCEEDED', 'retry', 'none'],
  ['COORDINATOR_LOAD_IN_PROGRESS', 'retry', 'none'],

  // About sequences. Neither of the first two settles a fate alone (C9).
  ['OUT_OF_ORDER_SEQUENCE_NUMBER', 'out-of-order', 'maybe'],
  ['UNKNOWN_PRODUCER_ID', 'unknown-producer', 'maybe'],
  ['INVALID_PRODUCER_EPOCH', 'fenced', 'none'],
  ['PRODUCER_FENCED', 'fenced', 'none'],

  ['MESSAGE_TOO_LARGE', 'split', 'none'],
  ['RECORD_LIST_TOO_LARGE', 'split', 'none'],

  ['TOPIC_AUTHORIZATION_FAILED', 'unauthorized', 'none'],
  ['CLUSTER_AUTHORIZATION_FAILED', 'unauthorized', 'none'],
  ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'unauthorized', 'none'],

  // The same bytes would be refused for ever.
  ['INVALID_RECORD', 'refused', 'none'],
  ['INVALID_TIMESTAMP', 'refused', 'none'],
  ['INVALID_TOPIC_EXCEPTION', 'refused', 'none'],
  ['INVALID_REQUIRED_ACKS', 'refused', 'none'],
  ['INVALID_REQUEST', 'refused', 'none'],
  ['POLICY_VIOLATION', 'refused', 'none'],
  ['UNSUPPORTED_VERSION', 'refused', 'none'],
  ['UNSUPPORTED_FOR_MESSAGE_FORMAT', 'refused', 'none'],
  ['UNSUPPORTED_COMPRESSION_TYPE', 'refused', 'none'],
  ['INVALID_TXN_STATE', 'refused', 'none'],
  ['INVALID_PRODUCER_ID_MAPPING', 'refused', 'none'],
  ['UNKNOWN_SERVER_ERROR', 'refused', 'maybe'],
];

describe('C11: what each answer makes the producer do', () => {
  test.each(expectedRows)('%s: %s, effect %s', (name, action, effect) => {
    expect(replyRow(code[name])).toEqual({ action, effect });
  });

  test('there is no row that is not in this table', () => {
    const expected = expectedRows.map(([name]) => code[name]);
    expect([...replyTable.keys()].sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b));
  });

  test('every code without a row fails the batch with its fate open, and hangs nothing', () => {
    for (let errorCode = -10; errorCode < 500; errorCode++) {
      if (replyTable.has(errorCode)) continue;
      expect(replyRow(errorCode)).toEqual({ action: 'refused', effect: 'maybe' });
    }
  });
});

test('InitProducerId is asked again after what passes by itself, and after nothing else', () => {
  const retriable = Object.entries(code)
    .filter(([, errorCode]) => isRetriableForIdentity(errorCode))
    .map(([name]) => name);
  expect(retriable.sort()).toEqual([
    'BROKER_NOT_AVAILABLE',
    'COORDINATOR_LOAD_IN_PROGRESS',
    'COORDINATOR_NOT_AVAILABLE',
    'NETWORK_EXCEPTION',
    'NOT_CONTROLLER',
    'NOT_COORDINATOR',
    'REQUEST_TIMED_OUT',
    'THROTTLING_QUOTA_EXCEEDED',
    'UNKNOWN_SERVER_ERROR',
  ]);
  expect(isRetriableForIdentity(999)).toBe(false);
});

test('an answer is described by its name, its number and the broker’s words', () => {
  expect(describeAnswer(10, undefined)).toBe('MESSAGE_TOO_LARGE (10)');
  expect(describeAnswer(87, 'bad timestamp')).toBe('INVALID_RECORD (87): bad timestamp');
  expect(describeAnswer(999, '')).toBe('UNKNOWN_ERROR_CODE_999 (999)');
});
