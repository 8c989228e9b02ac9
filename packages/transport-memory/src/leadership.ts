/** Who leads a partition, as the controller decided it. A value: a change is another one. */
export interface Leadership {
  /** Broker id; -1 while no in-sync replica is up. */
  readonly leader: number;
  /** Grows with each change of `leader`. */
  readonly leaderEpoch: number;
  /** Broker ids of the in-sync replicas: each has every record below the high watermark. Never empty. */
  readonly isr: readonly number[];
}

export const noLeader = -1;

export function elect(leadership: Leadership, leader: number): Leadership {
  return { ...leadership, leader, leaderEpoch: leadership.leaderEpoch + 1 };
}

/**
 * A broker went down, or stopped reporting. It leaves the in-sync replicas unless it is the last: that one alone is sure to
 * have every acknowledged record, so that nobody else may lead (short of an unclean election).
 */
export function afterBrokerDown(
  leadership: Leadership,
  brokerId: number,
  assigned: readonly number[],
  isAvailable: (brokerId: number) => boolean,
): Leadership {
  const { leader, isr } = leadership;
  if (!isr.includes(brokerId)) return leadership;
  if (isr.length === 1) return leader === brokerId ? elect(leadership, noLeader) : leadership;
  const shrunk = { ...leadership, isr: isr.filter((id) => id !== brokerId) };
  return leader === brokerId ? elect(shrunk, firstAvailable(shrunk.isr, assigned, isAvailable)) : shrunk;
}

/** A broker came up: a partition without a leader takes it when it is in sync. */
export function afterBrokerUp(leadership: Leadership, brokerId: number): Leadership {
  if (leadership.leader !== noLeader || !leadership.isr.includes(brokerId)) return leadership;
  return elect(leadership, brokerId);
}

/** The leader that the assignment prefers among the in-sync replicas that are up; {@link noLeader} when none is. */
export function firstAvailable(
  isr: readonly number[],
  assigned: readonly number[],
  isAvailable: (brokerId: number) => boolean,
): number {
  return assigned.find((brokerId) => isr.includes(brokerId) && isAvailable(brokerId)) ?? noLeader;
}

/** An unclean election: `leader` was not in sync, and what it has is the log from now on. */
export function electUnclean(leadership: Leadership, leader: number): Leadership {
  return { leader, leaderEpoch: leadership.leaderEpoch + 1, isr: [leader] };
}
