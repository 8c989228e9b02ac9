import type { ProducerBatch } from '../accumulator/batch.ts';
import type { AttemptInfo } from '../observe/hooks.ts';
import type { BrokerLane } from './broker-lane.ts';

/** One produce request carrying one batch. */
export interface Attempt {
  readonly batch: ProducerBatch;
  readonly lane: BrokerLane;
  /** The lane's connection count when it left: the gate opens only for answers of the present connection (C7). */
  readonly connection: number;
  /** From 1. */
  readonly number: number;
  readonly startedAtMs: number;
  /** What hooks saw when it started; `null` when none looked. */
  view: AttemptInfo | null;
  /** It was out when its topic turned out to be made again: its answer tells of a log that is gone. */
  ofFormerTopic: boolean;
}
