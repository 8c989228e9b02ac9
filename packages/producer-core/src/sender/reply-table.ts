import { protocolErrorCodes as code, protocolErrorName } from '../transport/protocol-errors.ts';

/**
 * What the producer does with an answer (rule C11). One row per error; a code without a row is `refused`, with `effect: 'maybe'`.
 *
 * `effect` says what the answered attempt did to the log: `none` when the broker checks this before it appends, `maybe` when
 * the same code is also used after an append (NOT_LEADER_OR_FOLLOWER is what a leader answers that stored the batch and lost
 * the leadership while it waited for replicas).
 */
export interface ReplyRow {
  readonly action: /** Stored, at the offset in the answer. */
    | 'stored'
    /** Stored before; the offset in the answer is not the batch's. */
    | 'duplicate'
    /** Same numbers again, after a pause (C3). */
    | 'retry'
    /** Same numbers again, after the metadata named a leader. */
    | 'refresh-and-retry'
    /** As above, and the topic is given up after a few answers like this. */
    | 'unknown-topic'
    /** A gap before this batch: wait when it is not the oldest, resolve when it is (C9). */
    | 'out-of-order'
    /** The broker knows nothing of this producer: resolve, then bump. */
    | 'unknown-producer'
    /** Split in two within the same numbers. */
    | 'split'
    /** The producer stops. */
    | 'fenced'
    /** Not allowed: the batch fails. */
    | 'unauthorized'
    /** The batch fails, then C9. */
    | 'refused';
  readonly effect: 'none' | 'maybe' | 'stored';
}

const row = (action: ReplyRow['action'], effect: ReplyRow['effect']): ReplyRow => ({ action, effect });

export const replyTable: ReadonlyMap<number, ReplyRow> = new Map([
  [code.NONE, row('stored', 'stored')],
  [code.DUPLICATE_SEQUENCE_NUMBER, row('duplicate', 'stored')],

  [code.NOT_LEADER_OR_FOLLOWER, row('refresh-and-retry', 'maybe')],
  [code.LEADER_NOT_AVAILABLE, row('refresh-and-retry', 'maybe')],
  [code.REPLICA_NOT_AVAILABLE, row('refresh-and-retry', 'maybe')],
  [code.BROKER_NOT_AVAILABLE, row('refresh-and-retry', 'maybe')],
  [code.FENCED_LEADER_EPOCH, row('refresh-and-retry', 'maybe')],
  [code.UNKNOWN_LEADER_EPOCH, row('refresh-and-retry', 'maybe')],
  [code.KAFKA_STORAGE_ERROR, row('refresh-and-retry', 'maybe')],
  [code.UNKNOWN_TOPIC_OR_PARTITION, row('unknown-topic', 'maybe')],
  [code.UNKNOWN_TOPIC_ID, row('unknown-topic', 'maybe')],
  [code.INCONSISTENT_TOPIC_ID, row('unknown-topic', 'maybe')],

  [code.REQUEST_TIMED_OUT, row('retry', 'maybe')],
  [code.NETWORK_EXCEPTION, row('retry', 'maybe')],
  [code.NOT_ENOUGH_REPLICAS_AFTER_APPEND, row('retry', 'maybe')],
  [code.NOT_ENOUGH_REPLICAS, row('retry', 'none')],
  [code.CORRUPT_MESSAGE, row('retry', 'none')],
  [code.THROTTLING_QUOTA_EXCEEDED, row('retry', 'none')],
  [code.COORDINATOR_LOAD_IN_PROGRESS, row('retry', 'none')],

  // Settles nothing alone (C9): a restarted leader says so of a batch that it has.
  [code.OUT_OF_ORDER_SEQUENCE_NUMBER, row('out-of-order', 'maybe')],
  [code.UNKNOWN_PRODUCER_ID, row('unknown-producer', 'maybe')],
  [code.MESSAGE_TOO_LARGE, row('split', 'none')],
  [code.RECORD_LIST_TOO_LARGE, row('split', 'none')],
  [code.INVALID_PRODUCER_EPOCH, row('fenced', 'none')],
  [code.PRODUCER_FENCED, row('fenced', 'none')],

  [code.TOPIC_AUTHORIZATION_FAILED, row('unauthorized', 'none')],
  [code.CLUSTER_AUTHORIZATION_FAILED, row('unauthorized', 'none')],
  [code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, row('unauthorized', 'none')],

  [code.INVALID_RECORD, row('refused', 'none')],
  [code.INVALID_TIMESTAMP, row('refused', 'none')],
  [code.INVALID_TOPIC_EXCEPTION, row('refused', 'none')],
  [code.INVALID_REQUIRED_ACKS, row('refused', 'none')],
  [code.INVALID_REQUEST, row('refused', 'none')],
  [code.POLICY_VIOLATION, row('refused', 'none')],
  [code.UNSUPPORTED_VERSION, row('refused', 'none')],
  [code.UNSUPPORTED_FOR_MESSAGE_FORMAT, row('refused', 'none')],
  [code.UNSUPPORTED_COMPRESSION_TYPE, row('refused', 'none')],
  [code.INVALID_TXN_STATE, row('refused', 'none')],
  [code.INVALID_PRODUCER_ID_MAPPING, row('refused', 'none')],
  // Kafka 4.1 answers it for a compressed body that can't be read; the same bytes would be refused for ever.
  [code.UNKNOWN_SERVER_ERROR, row('refused', 'maybe')],
]);

const unknownCode = row('refused', 'maybe');

export function replyRow(errorCode: number): ReplyRow {
  return replyTable.get(errorCode) ?? unknownCode;
}

/** Codes after which InitProducerId is asked again (broker-facts: 14 while the broker waits for a block of ids). */
export function isRetriableForIdentity(errorCode: number): boolean {
  switch (errorCode) {
    case code.COORDINATOR_LOAD_IN_PROGRESS:
    case code.COORDINATOR_NOT_AVAILABLE:
    case code.NOT_COORDINATOR:
    case code.REQUEST_TIMED_OUT:
    case code.NETWORK_EXCEPTION:
    case code.NOT_CONTROLLER:
    case code.BROKER_NOT_AVAILABLE:
    case code.UNKNOWN_SERVER_ERROR:
    case code.THROTTLING_QUOTA_EXCEEDED:
      return true;
    default:
      return false;
  }
}

/** The broker's answer in words: its name, and what it said where it said something. */
export function describeAnswer(errorCode: number, errorMessage: string | undefined): string {
  const name = `${protocolErrorName(errorCode)} (${errorCode})`;
  return errorMessage === undefined || errorMessage === '' ? name : `${name}: ${errorMessage}`;
}
