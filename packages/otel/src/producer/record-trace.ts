import type { Attributes, Context, HrTime, Span } from '@opentelemetry/api';
import type { BatchInfo, RecordHeaders, RecordMetadata, RecordWatch } from '@sendonce/producer-core';
import { offsetShown } from '../attributes.ts';
import { errorTypeOf } from '../error-type.ts';
import { markFailed } from '../failed-span.ts';
import { conventional, own } from '../semconv.ts';
import type { BatchFacts } from './batch-facts.ts';

/** What a record's watch tells. */
export interface RecordWatchOwner {
  /** The record is in this batch, which is about to leave. */
  joined(record: RecordTrace, batch: BatchInfo): void;
  settled(record: RecordTrace, error: Error | null): void;
  named(attributes: Attributes): Attributes;
  now(): HrTime;
}

/** Follows one record from its call to its settlement: its span, and the time it took where that is measured. */
export class RecordTrace implements RecordWatch {
  readonly topic: string;
  readonly headers: RecordHeaders | undefined;
  /** With the span in it. */
  readonly context: Context;
  /** When it was sent, where its duration is measured. */
  readonly timedFromMs: number | null;
  facts: BatchFacts | null = null;
  readonly #owner: RecordWatchOwner;
  #span: Span | null;

  constructor(
    owner: RecordWatchOwner,
    topic: string,
    span: Span | null,
    context: Context,
    headers: RecordHeaders | undefined,
    timedFromMs: number | null,
  ) {
    this.#owner = owner;
    this.#span = span;
    this.topic = topic;
    this.context = context;
    this.headers = headers;
    this.timedFromMs = timedFromMs;
  }

  /** `null` when there is none to show, or it has ended. */
  get span(): Span | null {
    return this.#span;
  }

  onDrained(batch: BatchInfo): void {
    this.#owner.joined(this, batch);
  }

  onSettled(error: Error | null, metadata: RecordMetadata | null): void {
    this.#owner.settled(this, error);
    this.end(error, metadata);
  }

  /** Ends the span, once. */
  end(error: Error | null, metadata: RecordMetadata | null): void {
    const span = this.#span;
    if (span === null) return;
    this.#span = null;
    if (span.isRecording()) {
      span.setAttributes(
        this.#owner.named({ ...factAttributes(this.facts), ...outcomeAttributes(error, metadata, this.facts) }),
      );
      if (error !== null) markFailed(span, errorTypeOf(error, this.facts?.lastErrorType));
    }
    span.end(this.#owner.now());
  }
}

/** What is told of a batch's way, on its own span and on those of its records. */
export function factAttributes(facts: BatchFacts | null): Attributes {
  if (facts === null) return {};
  const attributes: Attributes = {
    [own.attempts]: facts.attempts,
    [own.retried]: facts.retried,
    [own.duplicate]: facts.duplicate,
  };
  if (facts.retryClasses.length > 0) attributes[own.retryClasses] = [...facts.retryClasses];
  if (facts.evidence !== null) attributes[own.duplicateEvidence] = facts.evidence;
  if (facts.queueMs !== null) attributes[own.queueMs] = facts.queueMs;
  if (facts.epochBumps > 0) attributes[own.epochBumps] = facts.epochBumps;
  return attributes;
}

/** How a record or a batch ended: the same error on both. */
export function outcomeAttributes(
  error: Error | null,
  metadata: Pick<RecordMetadata, 'partition' | 'offset'> | null,
  facts: BatchFacts | null,
): Attributes {
  if (error !== null) {
    const { fate, partition } = error as { fate?: unknown; partition?: unknown };
    const lastErrorType = facts?.lastErrorType ?? null;
    return {
      ...(lastErrorType === null ? {} : { [own.lastErrorType]: lastErrorType }),
      ...(typeof fate === 'string' ? { [own.fate]: fate } : {}),
      ...(typeof partition === 'number' && partition >= 0 ? { [conventional.partitionId]: String(partition) } : {}),
    };
  }
  const offset = metadata === null ? undefined : offsetShown(metadata.offset);
  return {
    ...(metadata === null ? {} : { [conventional.partitionId]: String(metadata.partition) }),
    ...(offset === undefined ? {} : { [conventional.offset]: offset }),
  };
}
