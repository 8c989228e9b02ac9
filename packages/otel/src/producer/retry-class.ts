import type { AttemptOutcome } from '@sendonce/producer-core';

/**
 * Why an attempt has to be made again, in few words:
 *
 * - `leadership`: the broker does not lead the partition (any more, or yet).
 * - `unreachable`: nothing of the request left.
 * - `ambiguous`: no answer, or one that does not say whether it was stored. What idempotence is for.
 * - `after-append`: the leader stored it, and not enough replicas did.
 * - `availability`: too few replicas in sync, a broken disk, a quota.
 * - `cascade`: out of order because an earlier batch of the partition has to come first. Follows another failure.
 * - `identity`: the broker lost the producer's state, or never had it, or knows a newer epoch.
 * - `size`: too large for the broker, sent again in halves.
 * - `corruption`: the bytes arrived damaged.
 * - `other`: refused for a reason of its own.
 */
export type RetryClass =
  | 'leadership'
  | 'unreachable'
  | 'ambiguous'
  | 'after-append'
  | 'availability'
  | 'cascade'
  | 'identity'
  | 'size'
  | 'corruption'
  | 'other';

const classes: ReadonlyMap<string, RetryClass> = new Map([
  ['NOT_LEADER_OR_FOLLOWER', 'leadership'],
  ['LEADER_NOT_AVAILABLE', 'leadership'],
  ['REPLICA_NOT_AVAILABLE', 'leadership'],
  ['BROKER_NOT_AVAILABLE', 'leadership'],
  ['FENCED_LEADER_EPOCH', 'leadership'],
  ['UNKNOWN_LEADER_EPOCH', 'leadership'],
  ['UNKNOWN_TOPIC_OR_PARTITION', 'leadership'],
  ['UNKNOWN_TOPIC_ID', 'leadership'],
  ['INCONSISTENT_TOPIC_ID', 'leadership'],
  ['REQUEST_TIMED_OUT', 'ambiguous'],
  ['NETWORK_EXCEPTION', 'ambiguous'],
  ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'after-append'],
  ['NOT_ENOUGH_REPLICAS', 'availability'],
  ['KAFKA_STORAGE_ERROR', 'availability'],
  ['THROTTLING_QUOTA_EXCEEDED', 'availability'],
  ['COORDINATOR_LOAD_IN_PROGRESS', 'availability'],
  ['UNKNOWN_PRODUCER_ID', 'identity'],
  ['INVALID_PRODUCER_EPOCH', 'identity'],
  ['PRODUCER_FENCED', 'identity'],
  ['MESSAGE_TOO_LARGE', 'size'],
  ['RECORD_LIST_TOO_LARGE', 'size'],
  ['CORRUPT_MESSAGE', 'corruption'],
]);

export function retryClassOf({ action, effect, errorName, isOldest }: AttemptOutcome): RetryClass {
  if (action === 'lost') return effect === 'none' ? 'unreachable' : 'ambiguous';
  if (action === 'out-of-order') return isOldest ? 'identity' : 'cascade';
  return classes.get(errorName ?? '') ?? 'other';
}
