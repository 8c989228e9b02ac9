import { placeBatch } from '@sendonce/producer-core/record-batch';
import { createSimulatedRuntime } from '@sendonce/producer-core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchOf } from './batches.testkit.ts';
import { LogBatch } from './log-batch.ts';
import { PartitionMember } from './partition-member.ts';
import { profiles } from './profile.ts';
import { Replica } from './replica.ts';
import { copyFromLeader, truncateToLeader } from './replication.ts';

let writes = 0;

/** One stored batch; every call makes other bytes. */
function write(member: PartitionMember, leaderEpoch: number, count = 1): LogBatch {
  const bytes = batchOf({ producerId: 1_000 + ++writes, count });
  placeBatch(bytes, BigInt(member.replica.log.logEndOffset), leaderEpoch);
  const batch = new LogBatch(bytes, 0);
  member.replica.append(batch);
  return batch;
}

function memberOf(brokerId: number): PartitionMember {
  const runtime = createSimulatedRuntime({ seed: 1 });
  const replica = new Replica({
    topic: 'payments',
    partition: 0,
    brokerId,
    rules: profiles.tutorial,
    runtime,
    record: () => {},
    segmentBytes: 200,
    firstOffset: 0,
    producerIdExpirationMs: 1_000,
    producerIdExpirationCheckMs: 1_000,
  });
  return new PartitionMember({ brokerId, isRunning: true }, replica, runtime);
}

function copyInto(member: PartitionMember, batches: readonly LogBatch[]): void {
  for (const batch of batches) member.replica.append(batch);
}

const stored = ({ replica }: PartitionMember) => [...replica.log.batches()];

describe('M6: a follower keeps what it shares with its new leader', () => {
  it('when both went on after a common past, under epochs that the other never saw', () => {
    const [leader, follower] = [memberOf(1), memberOf(2)];
    const shared = [write(leader, 1, 3), write(leader, 1, 2)];
    copyInto(follower, shared);
    write(leader, 1, 5);
    write(leader, 3, 2);
    write(follower, 2, 3);
    expect(truncateToLeader(follower, leader)).toBe(3);
    expect(stored(follower)).toEqual(shared);
    copyFromLeader(follower, leader);
    expect(stored(follower)).toEqual(stored(leader));
  });

  it('when it has more of the leader’s newest epoch than the leader', () => {
    const [leader, follower] = [memberOf(1), memberOf(2)];
    const shared = [write(leader, 1), write(leader, 4)];
    copyInto(follower, shared);
    write(follower, 4, 7);
    expect(truncateToLeader(follower, leader)).toBe(7);
    expect(stored(follower)).toEqual(shared);
  });

  it('when it holds no records at an offset beyond the leader’s end', () => {
    const [leader, follower] = [memberOf(1), memberOf(2)];
    follower.replica.restartAt(50);
    write(leader, 1, 3);
    truncateToLeader(follower, leader);
    copyFromLeader(follower, leader);
    expect(stored(follower)).toEqual(stored(leader));
    expect(follower.replica.log.logEndOffset).toBe(3);
  });

  it('when it holds no records at an offset in the middle of one of the leader’s batches', () => {
    const [leader, follower] = [memberOf(1), memberOf(2)];
    follower.replica.restartAt(2);
    write(leader, 1, 4);
    write(leader, 1, 4);
    truncateToLeader(follower, leader);
    copyFromLeader(follower, leader);
    expect(follower.replica.log.logEndOffset).toBe(8);
  });

  it('whatever the two logs went through', () => {
    const history = fc.array(fc.record({ newEpoch: fc.boolean(), count: fc.integer({ min: 1, max: 3 }) }), {
      maxLength: 12,
    });
    const deleted = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(history, history, history, deleted, (common, leaderOnly, followerOnly, share) => {
        const [leader, follower] = [memberOf(1), memberOf(2)];
        let epoch = 0;
        for (const { newEpoch, count } of common) {
          if (newEpoch) epoch++;
          copyInto(follower, [write(leader, epoch, count)]);
        }
        const shared = stored(follower);
        // Two leaders never have the same epoch: odd ones are this one’s, even ones the other’s.
        const extend = (member: PartitionMember, steps: typeof common, parity: number) => {
          let own = epoch + 2 - ((epoch + parity) % 2);
          for (const { newEpoch, count } of steps) {
            if (newEpoch) own += 2;
            write(member, own, count);
          }
        };
        extend(leader, leaderOnly, 1);
        extend(follower, followerOnly, 0);
        const { logEndOffset } = leader.replica.log;
        leader.replica.deleteBefore(Math.floor(share * logEndOffset));
        truncateToLeader(follower, leader);
        expect(stored(follower).every((batch) => shared.includes(batch))).toBe(true);
        copyFromLeader(follower, leader);
        const leaderBatches = stored(leader);
        expect(stored(follower)).toEqual(leaderBatches);
        expect(follower.replica.log.logEndOffset).toBe(logEndOffset);
        expect(follower.replica.log.logStartOffset).toBe(leader.replica.log.logStartOffset);
        expect(follower.replica.rebuildFromLog()).toEqual(follower.replica.copyState());
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('M6: a leader knows how far its followers are', () => {
  it('only from their fetches in its own epoch', () => {
    const leader = memberOf(1);
    leader.view = { leader: 1, leaderEpoch: 3, isr: [1, 2] };
    leader.noteFollowerEnd(2, 10);
    expect([leader.followerEnd(2), leader.followerEnd(3)]).toEqual([10, Number.NEGATIVE_INFINITY]);
    leader.view = { leader: 1, leaderEpoch: 5, isr: [1, 2] };
    expect(leader.followerEnd(2)).toBe(Number.NEGATIVE_INFINITY);
    leader.noteFollowerEnd(3, 4);
    expect([leader.followerEnd(2), leader.followerEnd(3)]).toEqual([Number.NEGATIVE_INFINITY, 4]);
  });
});
