import type { ProducerState } from './producer.ts';
import type { ReplyRow } from './sender/reply-table.ts';

/** One producer's counters since its start, and gauges. */
export interface ProducerStats {
  readonly state: ProducerState;
  /** The id that new partitions get; -1n without idempotence. */
  readonly producerId: bigint;

  readonly recordsAcknowledged: number;
  /** Failed before they got into a batch: wrong, too large, no room, no such topic, closed. Certainly not stored. */
  readonly recordsRefused: number;
  /** Failed in a batch, and certainly not stored. */
  readonly recordsNotStored: number;
  /** Failed, and perhaps stored. */
  readonly recordsUnknown: number;
  readonly requests: number;
  /** Batches sent, again and again included. */
  readonly attempts: number;
  /** Attempts above a batch's first. */
  readonly retries: number;
  /** Attempts whose request ended without an answer. */
  readonly attemptsLost: number;
  readonly splits: number;
  /** How often a partition had to find out what is stored (rule C9). */
  readonly resolutions: number;
  readonly epochBumps: number;
  readonly dataLossSuspected: number;
  /** Answers by what the sender made of them (rule C11). */
  readonly answers: Readonly<Record<ReplyRow['action'], number>>;
  readonly hookFailures: number;
  /** Records that failed and nobody listened. */
  readonly unheardFailures: number;

  /** Records taken and not settled. */
  readonly pendingRecords: number;
  /** Those of them that wait for memory or metadata. A `send` that waits holds its record beside `bufferMemory`. */
  readonly waitingRecords: number;
  readonly bufferUsedBytes: number;
  readonly bufferLimitBytes: number;
  readonly requestsInFlight: number;
  /** Entries in the one queue of deadlines. */
  readonly deadlines: number;
}
