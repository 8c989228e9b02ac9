import { checkIsolation, checkOptions, MAX_BATCH_MESSAGES } from './call-checks.ts';
import { DedupConfigError } from './errors.ts';
import type { Isolation } from './handler.ts';
import type { ConsumedMessage, TopicPartition } from './message.ts';
import { type Failed, type InProgress, isCommittable, type Outcome } from './outcome.ts';

/** The part of kafkajs's `EachMessagePayload` that is used. */
export interface EachMessagePayload<M> extends TopicPartition {
  readonly message: M;
}

export type EachMessage<M> = (payload: EachMessagePayload<M>) => Promise<void>;

/** The part of kafkajs's `EachBatchPayload` that is used. */
export interface EachBatchPayload<M> {
  readonly batch: TopicPartition & { readonly messages: readonly M[] };
  resolveOffset(offset: string): void;
  heartbeat(): Promise<void>;
}

export type EachBatch<M> = (payload: EachBatchPayload<M>) => Promise<void>;

export interface EachMessageOptions<M> {
  /**
   * Asked about a message that was not processed. `'throw'`, the default, lets kafkajs deliver it again; `'commit'` goes
   * past it for good, as after writing it to a dead-letter topic (rule D2: what the caller decided).
   */
  onUncommittable?(outcome: Failed | InProgress, message: M, at: TopicPartition): Verdict | Promise<Verdict>;
}

export type Verdict = 'throw' | 'commit';

export interface EachBatchOptions<M> extends EachMessageOptions<M> {
  /** `'batch'` by default. */
  readonly isolate?: Isolation;
  /** Messages claimed together, 1 to 10,000. kafkajs is told of the progress, and sends a heartbeat, after each such part. 500 by default. */
  readonly maxMessages?: number;
}

const DEFAULT_MAX_MESSAGES = 500;

export function createEachMessage<M extends ConsumedMessage>(
  process: (message: M, at: TopicPartition) => Promise<Outcome>,
  options: EachMessageOptions<M> = {},
): EachMessage<M> {
  checkOptions(options, ['onUncommittable']);
  return async ({ topic, partition, message }) => {
    const at = { topic, partition };
    await settle(await process(message, at), message, at, options);
  };
}

/**
 * A batch is worked off to its end, also when kafkajs is stopping or a seek is pending: kafkajs marks a batch as done when
 * its handler returns early without an error, and what had not been processed would be lost.
 */
export function createEachBatch<M extends ConsumedMessage>(
  processBatch: (messages: readonly M[], batch: { isolate: Isolation; at: TopicPartition }) => Promise<Outcome[]>,
  given: EachBatchOptions<M> = {},
): EachBatch<M> {
  checkOptions(given, ['onUncommittable', 'isolate', 'maxMessages']);
  const { isolate = 'batch', maxMessages = DEFAULT_MAX_MESSAGES, ...options } = given;
  checkIsolation(isolate);
  if (!Number.isInteger(maxMessages) || maxMessages < 1 || maxMessages > MAX_BATCH_MESSAGES) {
    throw new DedupConfigError(
      `maxMessages: is ${String(maxMessages)}; it must be a whole number from 1 to ${MAX_BATCH_MESSAGES}`,
      ['maxMessages'],
    );
  }
  return async ({ batch, resolveOffset, heartbeat }) => {
    const { topic, partition, messages } = batch;
    const at = { topic, partition };
    for (let from = 0; from < messages.length; from += maxMessages) {
      const part = messages.slice(from, from + maxMessages);
      const outcomes = await processBatch(part, { isolate, at });
      for (const [index, outcome] of outcomes.entries()) {
        const message = part[index]!;
        await settle(outcome, message, at, options);
        resolveOffset(String(message.offset));
      }
      await heartbeat();
    }
  };
}

async function settle<M>(
  outcome: Outcome,
  message: M,
  at: TopicPartition,
  options: EachMessageOptions<M>,
): Promise<void> {
  if (isCommittable(outcome)) return;
  const verdict = (await options.onUncommittable?.(outcome, message, at)) ?? 'throw';
  if (verdict !== 'commit') throw outcome.error;
}
