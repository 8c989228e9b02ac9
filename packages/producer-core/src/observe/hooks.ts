import type { Fate } from '../errors.ts';

/** A batch as hooks see it. */
export interface BatchInfo {
  readonly topic: string;
  readonly partition: number;
  readonly recordCount: number;
  readonly sizeBytes: number;
  /** -1n, -1 and -1 until the batch is numbered, and always without idempotence. */
  readonly producerId: bigint;
  readonly epoch: number;
  readonly baseSequence: number;
}

/** One produce request's part for one batch. */
export interface AttemptInfo {
  readonly batch: BatchInfo;
  /** From 1. Above 1 it is a retry. */
  readonly number: number;
  readonly brokerId: number;
  readonly startedAtMs: number;
}

export interface AttemptOutcome {
  readonly endedAtMs: number;
  /** What the sender makes of it (rule C11); `lost` when the request ended without an answer. */
  readonly action: string;
  /** Kafka's error code; `null` when there was no answer. */
  readonly errorCode: number | null;
  /** -1n when the answer had none. */
  readonly baseOffset: bigint;
  readonly error: Error | null;
}

export interface BatchOutcome {
  readonly fate: Fate;
  readonly attempts: number;
  readonly createdAtMs: number;
  readonly settledAtMs: number;
  /** -1n when unknown. */
  readonly baseOffset: bigint;
  readonly error: Error | null;
}

/** Something a person who runs the producer should know. Nothing is weakened without one (design, section 1). */
export type ProducerEvent =
  | {
      readonly type: 'epoch-bumped';
      readonly topic: string;
      readonly partition: number;
      readonly producerId: bigint;
      readonly epoch: number;
      readonly trigger: string;
      readonly renumbered: number;
    }
  /** A partition began to find out what is stored before it goes on (rule C9). */
  | { readonly type: 'resolving'; readonly topic: string; readonly partition: number; readonly trigger: string }
  /** The broker does not have what it acknowledged: an unclean election, or a log that was cut. */
  | {
      readonly type: 'data-loss-suspected';
      readonly topic: string;
      readonly partition: number;
      readonly trigger: string;
    }
  /** Records older than the broker remembers producers: a retry may be stored twice (rule C19). Once a topic. */
  | {
      readonly type: 'retries-unprotected';
      readonly topic: string;
      readonly timestamp: number;
      readonly producerIdExpirationMs: number;
    }
  | {
      readonly type: 'leader-changed';
      readonly topic: string;
      readonly partition: number;
      readonly brokerId: number;
      readonly leaderEpoch: number;
    }
  | { readonly type: 'batch-split'; readonly topic: string; readonly partition: number; readonly recordCount: number }
  /** Records failed for which nobody listens: `enqueue` without a callback. */
  | {
      readonly type: 'unheard-failures';
      readonly topic: string;
      readonly partition: number;
      readonly records: number;
      readonly error: Error;
    }
  | { readonly type: 'metadata-failed'; readonly error: Error }
  | { readonly type: 'fatal'; readonly error: Error }
  /** Many short-lived producers in this process (rule C16). Once a process. */
  | { readonly type: 'producer-churn'; readonly producersCreated: number; readonly withinMs: number };

/**
 * Called by the sender while it works: keep them short. All optional; where one is absent nothing is allocated for it. One that
 * throws is counted in `stats().hookFailures` and changes nothing else.
 */
export interface ProducerHooks {
  /** A batch left for the first time: it has its numbers. Once a batch, again after a bump. */
  onBatchDrained?(batch: BatchInfo): void;
  /** A produce request leaves; once for each batch in it. */
  onAttemptStarted?(attempt: AttemptInfo): void;
  /** That request's answer came, or will not come. Once for each `onAttemptStarted`. */
  onAttemptEnded?(attempt: AttemptInfo, outcome: AttemptOutcome): void;
  /** The batch's callers are told. Once a batch (a split batch settles as its parts). */
  onBatchSettled?(batch: BatchInfo, outcome: BatchOutcome): void;
  onEvent?(event: ProducerEvent): void;
}

/** Where the producer says what a person should read. `console` fits; so does pino behind a two-line adapter. */
export interface ProducerLogger {
  info(message: string): void;
  warn(message: string): void;
}
