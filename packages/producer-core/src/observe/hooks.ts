import type { Fate } from '../errors.ts';
import type { Guarantees } from '../guarantees.ts';
import type { ProducerRecord, RecordHeaders, RecordMetadata } from '../record.ts';
import type { ProducerStats } from '../stats.ts';
import type { ProducerIdentity } from '../transport/transport.ts';

/** The producer that calls: the same object in each of its calls. */
export interface ProducerInfo {
  readonly clientId: string;
  readonly guarantees: Guarantees;
  stats(): ProducerStats;
}

/**
 * What a hook gives back for a record that it wants to go on with. A closure or an object a record: return one only for the records
 * that need it.
 */
export interface RecordWatch {
  /** The record leaves with these headers in place of its own; its own object is left alone. Left out when they would make it too large. */
  readonly headers?: RecordHeaders | undefined;
  /** Its batch is about to leave for the first time: once, and again after a bump or a split. Comes before `onBatchDrained`. */
  onDrained?(batch: BatchInfo): void;
  /** Once, whatever becomes of the record, just before its caller is told. */
  onSettled?(error: Error | null, metadata: RecordMetadata | null): void;
}

/** A batch as hooks see it: the same object in each call for that batch. It shows the batch as it is when it is read. */
export interface BatchInfo {
  readonly producer: ProducerInfo;
  readonly topic: string;
  readonly partition: number;
  readonly recordCount: number;
  /** 0 until it is closed. */
  readonly sizeBytes: number;
  /** On the runtime's monotonic clock, as all times here. */
  readonly createdAtMs: number;
  /** -1n, -1 and -1 until the batch is numbered, and always without idempotence. */
  readonly producerId: bigint;
  readonly epoch: number;
  readonly baseSequence: number;
}

/** One produce request's part for one batch. */
export interface AttemptInfo {
  readonly batch: BatchInfo;
  /** From 1: which of the requests that left it is, if it leaves. Above 1 it is a retry. */
  readonly number: number;
  readonly brokerId: number;
  readonly startedAtMs: number;
}

export interface AttemptOutcome {
  readonly endedAtMs: number;
  /** What the sender makes of it (rule C11); `lost` when the request ended without an answer. */
  readonly action: string;
  /** What this attempt did to the log, as far as is known: `none` also when nothing of it left. */
  readonly effect: 'none' | 'maybe' | 'stored';
  /** Kafka's error code; `null` when there was no answer. */
  readonly errorCode: number | null;
  /** Kafka's name of it, or the transport error's code when there was no answer; `null` without an error. */
  readonly errorName: string | null;
  /** Whether it was the partition's oldest numbered batch. Out of order for another one is the echo of an earlier failure. */
  readonly isOldest: boolean;
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

/** One InitProducerId request. */
export interface ProducerIdRequest {
  readonly producer: ProducerInfo;
  /** `epochs-used-up`: rule C10. */
  readonly reason: 'start' | 'epochs-used-up';
  readonly startedAtMs: number;
}

export interface ProducerIdOutcome {
  readonly endedAtMs: number;
  /** `null` when it failed. It is asked again, unless the error can't pass by itself or time is up. */
  readonly identity: ProducerIdentity | null;
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
  /** The topic was deleted and made again under its name: what was acknowledged before is gone. */
  | {
      readonly type: 'topic-recreated';
      readonly topic: string;
      /** The id of the topic that bears the name now. */
      readonly topicId: string;
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
 * Called synchronously while the producer works: keep them short. All optional; where one is absent nothing is allocated for it. One
 * that throws is counted in `stats().hookFailures` and changes nothing else; a promise is not waited for.
 *
 * `onRecord` runs in the async context of whoever sends; all others run outside any caller's (rule C17), except `onRecordRefused`, which
 * may be either.
 */
export interface ProducerHooks {
  /** Ready to take records. Once a producer. */
  onProducerStarted?(producer: ProducerInfo): void;
  /** Everything is settled and the transport is closed. Once for each `onProducerStarted`, if the producer is closed. */
  onProducerClosed?(producer: ProducerInfo): void;
  /** A producer id is asked for: at the start, and when epochs are used up. Once a request. */
  onProducerIdRequested?(request: ProducerIdRequest): void;
  /** Once for each `onProducerIdRequested`. */
  onProducerIdAnswered?(request: ProducerIdRequest, outcome: ProducerIdOutcome): void;
  /** `send`, `sendBatch` (once for each of its records) or `enqueue` was called with a record that is in order. Nothing of it is kept yet. */
  onRecord?(record: ProducerRecord, producer: ProducerInfo): RecordWatch | undefined;
  /** A record failed before it got into a batch: it was wrong, memory was full, its topic unknown, the producer closed. Once a record. */
  onRecordRefused?(topic: string | null, error: Error, producer: ProducerInfo): void;
  /** A batch left for the first time: it has its numbers. Once a batch, again after a bump. */
  onBatchDrained?(batch: BatchInfo): void;
  /** The broker found the batch too large. Its records and numbers go on in `parts`; nothing more is heard of `batch`. */
  onBatchSplit?(batch: BatchInfo, parts: readonly BatchInfo[]): void;
  /** A produce request leaves; once for each batch in it. */
  onAttemptStarted?(attempt: AttemptInfo): void;
  /** That request's answer came, or will not come. Once for each `onAttemptStarted`; perhaps after the batch was settled. */
  onAttemptEnded?(attempt: AttemptInfo, outcome: AttemptOutcome): void;
  /** The batch's callers are about to be told. Once a batch that was not split. */
  onBatchSettled?(batch: BatchInfo, outcome: BatchOutcome): void;
  onEvent?(event: ProducerEvent, producer: ProducerInfo): void;
}

export const hookNames = [
  'onProducerStarted',
  'onProducerClosed',
  'onProducerIdRequested',
  'onProducerIdAnswered',
  'onRecord',
  'onRecordRefused',
  'onBatchDrained',
  'onBatchSplit',
  'onAttemptStarted',
  'onAttemptEnded',
  'onBatchSettled',
  'onEvent',
] as const satisfies readonly (keyof ProducerHooks)[];

/** Where the producer says what a person should read. `console` fits; so does pino behind a two-line adapter. */
export interface ProducerLogger {
  info(message: string): void;
  warn(message: string): void;
}
