import type { PartitionQueue } from '../accumulator/partition-queue.ts';
import { AnswerTimes } from './answer-times.ts';

/** The way to one broker: what may go next, and how many requests are out. */
export class BrokerLane {
  readonly brokerId: number;
  /** Requests without an answer. At most `maxInFlight` (C5). */
  inFlight = 0;
  /** Grows whenever a request ended without an answer: what went before it no longer opens a gate (C7). */
  connection = 0;
  /** Partitions that may have something to send, in turn. A partition is in it at most once. */
  ready: PartitionQueue[] = [];
  /** Partitions whose open batch waits for an answer (C18). */
  #lingering: PartitionQueue[] = [];
  readonly answerTimes = new AnswerTimes();
  /** Whether the sender will come to it at the end of its present pass. */
  dirty = false;

  constructor(brokerId: number) {
    this.brokerId = brokerId;
  }

  linger(queue: PartitionQueue): void {
    if (queue.isLingering) return;
    queue.isLingering = true;
    this.#lingering.push(queue);
  }

  takeLingering(): PartitionQueue[] {
    const taken = this.#lingering;
    this.#lingering = [];
    for (const queue of taken) queue.isLingering = false;
    return taken;
  }

  /** The partition has another leader now. */
  leave(queue: PartitionQueue): void {
    // It may come back before this lane is looked at, and a request has each partition once.
    if (queue.isInLane) this.ready = this.ready.filter((ready) => ready !== queue);
    queue.isInLane = false;
    if (queue.isLingering) this.#lingering = this.#lingering.filter((lingering) => lingering !== queue);
    queue.isLingering = false;
  }
}
