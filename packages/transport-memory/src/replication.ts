import type { PartitionMember } from './partition-member.ts';

/**
 * Rule M6: a follower takes the leader's bytes as they are and rebuilds the producer state itself. The bytes of a stored
 * batch never change, so that both logs can hold the same ones.
 */
export function copyFromLeader(follower: PartitionMember, leader: PartitionMember): void {
  const from = leader.replica;
  const to = follower.replica;
  const { logStartOffset } = from.log;
  const { logEndOffset } = to.log;
  const [next] = from.log.batchesFrom(Math.max(logEndOffset, logStartOffset));
  // What would come next was deleted, or the follower is empty at an offset where no batch of the leader begins.
  const isApart = next === undefined ? logEndOffset < logStartOffset : next.baseOffset !== logEndOffset;
  if (isApart) to.restartAt(next?.baseOffset ?? logStartOffset);
  for (const batch of from.log.batchesFrom(to.log.logEndOffset)) to.append(batch);
  to.highWatermark = Math.min(to.log.logEndOffset, from.highWatermark);
  to.deleteBefore(logStartOffset);
}

/**
 * Removes from the follower what its new leader does not have: epoch by epoch, from the newest, until both agree where one
 * ends (KIP-101, KIP-279). Returns the number of records removed.
 */
export function truncateToLeader(follower: PartitionMember, leader: PartitionMember): number {
  const own = follower.replica.log;
  const endBefore = own.logEndOffset;
  for (;;) {
    const epoch = own.latestLeaderEpoch;
    if (epoch < 0) break;
    const shared = leader.replica.log.endOfEpoch(epoch);
    const ownEnd = own.endOfEpoch(shared.leaderEpoch).endOffset;
    follower.replica.truncateTo(Math.min(shared.endOffset, ownEnd));
    if (shared.leaderEpoch === epoch) break;
  }
  // A log that holds nothing has no epoch to compare by, and may still end after the leader's: it begins anew.
  const { logStartOffset, logEndOffset } = leader.replica.log;
  if (own.logEndOffset > logEndOffset) follower.replica.restartAt(logStartOffset);
  return Math.max(0, endBefore - own.logEndOffset);
}
