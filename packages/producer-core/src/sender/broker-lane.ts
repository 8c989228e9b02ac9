import type { PartitionQueue } from '../accumulator/partition-queue.ts';

/** The way to one broker: what may go next, and how many requests are out. */
export class BrokerLane {
  readonly brokerId: number;
  /** Requests without an answer. At most `maxInFlight` (C5). */
  inFlight = 0;
  /** Grows whenever a request ended without an answer: what went before it no longer opens a gate (C7). */
  connection = 0;
  /** Partitions that may have something to send, in turn. A partition is in it at most once. */
  ready: PartitionQueue[] = [];
  /** Whether the sender will come to it at the end of its present pass. */
  dirty = false;

  constructor(brokerId: number) {
    this.brokerId = brokerId;
  }
}
