import type { PartitionMember } from './partition-member.ts';

/**
 * Rule M6: a follower takes the leader's bytes as they are and rebuilds the producer state itself. The bytes of a stored
 * batch never change, so that both logs can hold the same ones.
 */
export function copyFromLeader(follower: PartitionMember, leader: PartitionMember): void {
  const from = leader.replica;
  const to = follower.replica;
  if (to.log.logEndOffset < from.log.logStartOffset) to.restartAt(from.log.logStartOffset);
  for (const batch of from.log.batchesFrom(to.log.logEndOffset)) to.append(batch);
  to.highWatermark = Math.min(to.log.logEndOffset, from.highWatermark);
  to.deleteBefore(from.log.logStartOffset);
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
  if (leader.replica.log.latestLeaderEpoch < 0 && own.logEndOffset > leader.replica.log.logEndOffset) {
    follower.replica.truncateTo(leader.replica.log.logEndOffset);
  }
  return Math.max(0, endBefore - own.logEndOffset);
}
