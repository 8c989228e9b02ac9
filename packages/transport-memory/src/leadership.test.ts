import { describe, expect, it } from 'vitest';
import { afterBrokerDown, afterBrokerUp, electUnclean, type Leadership, noLeader } from './leadership.ts';

const assigned = [1, 2, 3];
const led = (leader: number, leaderEpoch: number, ...isr: number[]): Leadership => ({ leader, leaderEpoch, isr });

describe('M6: who leads', () => {
  it.each([
    { what: 'the leader goes down', before: led(1, 4, 1, 2, 3), down: [1], after: led(2, 5, 2, 3) },
    { what: 'a follower goes down', before: led(1, 4, 1, 2, 3), down: [2], after: led(1, 4, 1, 3) },
    { what: 'one that is not in sync goes down', before: led(1, 4, 1, 2), down: [3], after: led(1, 4, 1, 2) },
    { what: 'the last in sync goes down', before: led(1, 4, 1), down: [1], after: led(noLeader, 5, 1) },
    {
      what: 'the last in sync, which does not lead',
      before: led(noLeader, 5, 1),
      down: [1],
      after: led(noLeader, 5, 1),
    },
    {
      what: 'the leader, the next one being down as well',
      before: led(1, 4, 1, 2, 3),
      down: [2, 1],
      after: led(3, 5, 3),
    },
  ])('$what', ({ before, down, after }) => {
    const gone = new Set<number>();
    let leadership = before;
    for (const brokerId of down) {
      gone.add(brokerId);
      leadership = afterBrokerDown(leadership, brokerId, assigned, (id) => !gone.has(id));
    }
    expect(leadership).toEqual(after);
  });

  it('a partition without a leader takes the first in-sync replica that comes up, and no other', () => {
    expect(afterBrokerUp(led(noLeader, 5, 1), 2)).toEqual(led(noLeader, 5, 1));
    expect(afterBrokerUp(led(noLeader, 5, 1), 1)).toEqual(led(1, 6, 1));
    expect(afterBrokerUp(led(3, 5, 1, 3), 1)).toEqual(led(3, 5, 1, 3));
  });

  it('after an unclean election the new leader alone is in sync', () => {
    expect(electUnclean(led(noLeader, 5, 1), 2)).toEqual(led(2, 6, 2));
  });
});
