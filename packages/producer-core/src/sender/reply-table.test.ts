import { describe, expect, test } from 'vitest';
import { protocolErrorCodes } from '../transport/protocol-errors.ts';
import { describeAnswer, isRetriableForIdentity, replyRow, replyTable } from './reply-table.ts';

const code = protocolErrorCodes;
const action = (errorCode: number) => replyRow(errorCode).action;

describe('C11: what each answer makes the producer do', () => {
  test('success and duplicate are stored', () => {
    expect(replyRow(code.NONE)).toEqual({ action: 'stored', effect: 'stored' });
    expect(replyRow(code.DUPLICATE_SEQUENCE_NUMBER)).toEqual({ action: 'duplicate', effect: 'stored' });
  });

  test('a leader change asks for metadata, and may come after an append', () => {
    for (const errorCode of [
      code.NOT_LEADER_OR_FOLLOWER,
      code.LEADER_NOT_AVAILABLE,
      code.FENCED_LEADER_EPOCH,
      code.KAFKA_STORAGE_ERROR,
    ]) {
      expect(replyRow(errorCode)).toEqual({ action: 'refresh-and-retry', effect: 'maybe' });
    }
  });

  test('too few replicas before the append is certain, after it is not', () => {
    expect(replyRow(code.NOT_ENOUGH_REPLICAS)).toEqual({ action: 'retry', effect: 'none' });
    expect(replyRow(code.NOT_ENOUGH_REPLICAS_AFTER_APPEND)).toEqual({ action: 'retry', effect: 'maybe' });
    expect(replyRow(code.REQUEST_TIMED_OUT)).toEqual({ action: 'retry', effect: 'maybe' });
  });

  test('sequence errors have rows of their own', () => {
    expect(action(code.OUT_OF_ORDER_SEQUENCE_NUMBER)).toBe('out-of-order');
    expect(action(code.UNKNOWN_PRODUCER_ID)).toBe('unknown-producer');
    expect(action(code.MESSAGE_TOO_LARGE)).toBe('split');
    expect(action(code.INVALID_PRODUCER_EPOCH)).toBe('fenced');
    expect(action(code.PRODUCER_FENCED)).toBe('fenced');
  });

  test('what would be refused for ever fails the batch', () => {
    expect(action(code.INVALID_RECORD)).toBe('refused');
    expect(action(code.TOPIC_AUTHORIZATION_FAILED)).toBe('unauthorized');
    expect(action(code.UNKNOWN_SERVER_ERROR)).toBe('refused');
  });

  test('every code without a row fails the batch with its fate open, and hangs nothing', () => {
    for (let errorCode = -10; errorCode < 500; errorCode++) {
      if (replyTable.has(errorCode)) continue;
      expect(replyRow(errorCode)).toEqual({ action: 'refused', effect: 'maybe' });
    }
  });

  test('only what a broker checks before it appends counts as no effect', () => {
    const certain = [...replyTable].filter(([, row]) => row.effect === 'none').map(([errorCode]) => errorCode);
    expect(certain).not.toContain(code.NOT_LEADER_OR_FOLLOWER);
    expect(certain).not.toContain(code.REQUEST_TIMED_OUT);
    expect(certain).not.toContain(code.OUT_OF_ORDER_SEQUENCE_NUMBER);
    expect(certain).toContain(code.MESSAGE_TOO_LARGE);
  });
});

test('InitProducerId is asked again while the broker waits for a block of ids', () => {
  expect(isRetriableForIdentity(code.COORDINATOR_LOAD_IN_PROGRESS)).toBe(true);
  expect(isRetriableForIdentity(code.CLUSTER_AUTHORIZATION_FAILED)).toBe(false);
});

test('an answer is described by its name, its number and the broker’s words', () => {
  expect(describeAnswer(10, undefined)).toBe('MESSAGE_TOO_LARGE (10)');
  expect(describeAnswer(87, 'bad timestamp')).toBe('INVALID_RECORD (87): bad timestamp');
  expect(describeAnswer(999, '')).toBe('UNKNOWN_ERROR_CODE_999 (999)');
});
