import type { LedgerEntry, Session } from './ledger.ts';
import type { LoggedBatch } from './log-reader.ts';
import type { Mode } from './plan.ts';

/** What a replica remembers of one producer id, as the cluster shows it. */
export interface NotebookEntry {
  readonly producerId: bigint;
  readonly epoch: number;
  /** Oldest first. */
  readonly batches: readonly {
    readonly baseSequence: number;
    readonly lastSequence: number;
    readonly baseOffset: number;
    readonly lastOffset: number;
  }[];
}

export interface ReplicaEvidence {
  readonly brokerId: number;
  readonly isLeader: boolean;
  readonly inSync: boolean;
  readonly logStartOffset: number;
  readonly batches: readonly LoggedBatch[];
  readonly notebook: readonly NotebookEntry[];
}

/** A partition of a topic that may be deleted and made again. */
export interface PartitionLife {
  readonly topic: string;
  readonly partition: number;
  /** Counts how often the topic was made. */
  readonly life: number;
  readonly createdAtMs: number;
}

/** What a partition's log had held when its topic was deleted. */
export interface FormerLife extends PartitionLife {
  readonly deletedAtMs: number;
  readonly batches: readonly LoggedBatch[];
}

export interface PartitionEvidence extends PartitionLife {
  /**
   * Every batch that was ever committed, those that were deleted since included, in offset order. After an unclean election:
   * what survived.
   */
  readonly batches: readonly LoggedBatch[];
  readonly replicas: readonly ReplicaEvidence[];
  /** Entries of these producer ids were dropped by expiry or retention. */
  readonly forgotten: ReadonlySet<bigint>;
  /** Records that unclean elections lost, as the cluster reported it. */
  readonly reportedLost: number;
  readonly uncleanElections: number;
}

/** Everything that a run leaves for the checker. */
export interface Evidence {
  readonly mode: Mode;
  readonly entries: readonly LedgerEntry[];
  readonly sessions: readonly Session[];
  readonly partitions: readonly PartitionEvidence[];
  readonly formerLives: readonly FormerLife[];
  /** Whether requests say by id for which of a topic's lives they are. */
  readonly topicIds: boolean;
  /** What was seen on the wire, and errors that nobody handled. */
  readonly observed: readonly Violation[];
}

/** A property that did not hold. */
export interface Violation {
  readonly property: string;
  readonly message: string;
  /** The record it is about, where it is about one. */
  readonly entryId?: number;
}
