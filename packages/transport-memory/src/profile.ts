/** Which broker the memory cluster behaves like. */
export type Profile = 'tutorial' | 'kafka-4';

/** What differs between the profiles. Everything else is the same code. */
export interface ProfileRules {
  /** An unknown producer id whose first batch does not start at sequence 0 (M2). */
  readonly unknownProducer: 'refuse' | 'accept';
  /** Batches of each producer that a snapshot keeps (M4). */
  readonly snapshotWindow: number;
  /** Whether a restarted replica forgets all but the last batch of each producer (M4). */
  readonly restartNarrows: boolean;
  /** Since when an entry counts as idle (M5): since the broker stored its last batch, or since that batch's newest record. */
  readonly idleSince: 'write' | 'record-timestamp';
  /** Whether entries expire on the millisecond, or at the next check (M5). */
  readonly expiry: 'exact' | 'at-checks';
  /** Whether an entry goes when retention removed its last batch (M5). */
  readonly retentionForgets: boolean;
}

export const profiles: Readonly<Record<Profile, ProfileRules>> = {
  /** The protocol as it is usually taught, and as brokers before Kafka 2.5 spoke it. */
  tutorial: {
    unknownProducer: 'refuse',
    snapshotWindow: 5,
    restartNarrows: false,
    idleSince: 'write',
    expiry: 'exact',
    retentionForgets: true,
  },
  /** What Kafka 3.9 and 4.1 brokers answered when they were asked: see `vectors/`. */
  'kafka-4': {
    unknownProducer: 'accept',
    snapshotWindow: 1,
    restartNarrows: true,
    idleSince: 'record-timestamp',
    expiry: 'at-checks',
    retentionForgets: false,
  },
};
