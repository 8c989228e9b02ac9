import {
  type Attributes,
  type Context,
  type HrTime,
  type Link,
  type Span,
  SpanKind,
  type SpanOptions,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { AttemptInfo, AttemptOutcome, BatchInfo, BatchOutcome } from '@sendonce/producer-core';
import type { NameAttributes } from '../attributes.ts';
import type { Clock } from '../clock.ts';
import { errorTypeOf, otherError } from '../error-type.ts';
import { markFailed } from '../failed-span.ts';
import type { AttemptSpans } from '../options.ts';
import { conventional, kafka, own } from '../semconv.ts';
import type { BatchFacts } from './batch-facts.ts';
import { factAttributes, outcomeAttributes, type RecordTrace } from './record-trace.ts';
import { retryClassOf } from './retry-class.ts';

/** Backends show few links, and the SDK keeps the last 128 it is given. */
const linksMax = 64;

export interface BatchTraceSettings {
  readonly tracer: () => Tracer;
  readonly named: NameAttributes;
  readonly attemptSpans: AttemptSpans;
  readonly clock: Clock;
}

interface OpenAttempt {
  readonly number: number;
  readonly startedAt: HrTime;
  readonly backoffMs: number | null;
  span: Span | null;
}

/**
 * The spans of one batch: `produce`, the child of its first record that is traced, with links to the others, and one `attempt` each below it.
 * Links alone would not do: Zipkin drops them, and a root span would be sampled on its own.
 */
export class BatchTrace {
  readonly span: Span;
  readonly #context: Context;
  readonly #settings: BatchTraceSettings;
  readonly #facts: BatchFacts;
  readonly #open = new Map<AttemptInfo, OpenAttempt>();
  #hasEnded = false;

  constructor(settings: BatchTraceSettings, facts: BatchFacts, members: readonly RecordTrace[]) {
    this.#settings = settings;
    this.#facts = facts;
    const [first, ...others] = members;
    const links: Link[] = others
      .slice(0, linksMax)
      .flatMap(({ span }) => (span === null ? [] : [{ context: span.spanContext() }]));
    const { batch, whole } = facts;
    const wholeSpan = whole?.trace?.span;
    if (wholeSpan !== undefined) {
      links.push({ context: wholeSpan.spanContext(), attributes: { [own.link]: 'split-from' } });
    }
    this.span = this.#start(
      'produce',
      first!.context,
      {
        [conventional.batchMessageCount]: batch.recordCount,
        [own.batchSizeBytes]: batch.sizeBytes,
      },
      { links },
    );
    this.#context = trace.setSpan(first!.context, this.span);
    // The other way round too: a backend shows a link where it starts only.
    for (const { span } of others)
      span?.addLink({ context: this.span.spanContext(), attributes: { [own.link]: 'batch' } });
  }

  get isOver(): boolean {
    return this.#hasEnded && this.#open.size === 0;
  }

  /** Its numbers are new: the partition took its next epoch. */
  renumbered(): void {
    this.event('sendonce.renumbered', numbersOf(this.#facts.batch));
  }

  event(name: string, attributes: Attributes): void {
    if (!this.#hasEnded) this.span.addEvent(name, attributes, this.#settings.clock.now());
  }

  /** Before the attempt's facts are known. */
  attemptStarted(attempt: AttemptInfo): void {
    const { attempts, lastEndedAtMs, lastErrorType, lastClass } = this.#facts;
    const isRepeat = attempts > 0;
    const backoffMs = isRepeat && lastEndedAtMs !== null ? Math.max(0, attempt.startedAtMs - lastEndedAtMs) : null;
    const open: OpenAttempt = { number: attempts + 1, startedAt: this.#settings.clock.now(), backoffMs, span: null };
    this.#open.set(attempt, open);
    if (isRepeat) {
      this.event('sendonce.retry', {
        [own.attempt]: attempts,
        ...(lastErrorType === null ? {} : { [conventional.errorType]: lastErrorType }),
        ...(lastClass === null ? {} : { [own.retryClass]: lastClass }),
        ...(backoffMs === null ? {} : { [own.backoffMs]: backoffMs }),
      });
    }
    const { attemptSpans } = this.#settings;
    if (attemptSpans === 'always' || (attemptSpans === 'on-retry' && isRepeat))
      open.span = this.#startAttempt(attempt, open);
  }

  attemptEnded(attempt: AttemptInfo, outcome: AttemptOutcome): void {
    const open = this.#open.get(attempt);
    if (open === undefined) return;
    this.#open.delete(attempt);
    const failed = outcome.effect !== 'stored';
    // With `on-retry` a first attempt gets its span once it is known to have failed: its start is in the past then.
    if (failed && this.#settings.attemptSpans === 'on-retry') open.span ??= this.#startAttempt(attempt, open);
    const { span } = open;
    if (outcome.action === 'duplicate') {
      this.event('sendonce.duplicate_acknowledged', {
        [own.duplicate]: 'confirmed',
        [own.duplicateEvidence]: 'duplicate-answer',
      });
    }
    if (span === null) return;
    if (failed) {
      span.setAttribute(own.retryClass, retryClassOf(outcome));
      markFailed(span, outcome.errorName ?? otherError);
    } else span.setAttribute(own.duplicate, outcome.action === 'duplicate' ? 'confirmed' : this.#facts.duplicate);
    span.end(this.#settings.clock.now());
  }

  /** Its records go on in parts, which link here. */
  split(parts: readonly BatchInfo[]): void {
    this.event('sendonce.batch_split', {
      [conventional.batchMessageCount]: parts.map(({ recordCount }) => recordCount),
    });
    this.#end();
  }

  settled({ error, baseOffset }: BatchOutcome): void {
    const { partition } = this.#facts.batch;
    this.span.setAttributes(
      this.#settings.named(outcomeAttributes(error, { partition, offset: baseOffset }, this.#facts)),
    );
    if (error !== null) markFailed(this.span, errorTypeOf(error, this.#facts.lastErrorType));
    this.#end();
  }

  /** Ends whatever is open: the producer is closed, or telemetry is switched off. */
  abandon(): void {
    for (const { span } of this.#open.values()) span?.end(this.#settings.clock.now());
    this.#open.clear();
    if (!this.#hasEnded) this.#end();
  }

  #end(): void {
    this.#hasEnded = true;
    this.span.setAttributes(factAttributes(this.#facts));
    this.span.end(this.#settings.clock.now());
  }

  #startAttempt({ brokerId }: AttemptInfo, { number, startedAt, backoffMs }: OpenAttempt): Span {
    return this.#start(
      'attempt',
      this.#context,
      {
        [own.attempt]: number,
        [own.brokerId]: brokerId,
        ...(number > 1 ? { [own.resendCount]: number - 1 } : {}),
        ...(backoffMs === null ? {} : { [own.backoffMs]: backoffMs }),
      },
      { startTime: startedAt },
    );
  }

  #start(operation: string, parent: Context, attributes: Attributes, options: SpanOptions): Span {
    const { batch } = this.#facts;
    return this.#settings.tracer().startSpan(
      `${operation} ${batch.topic}`,
      {
        startTime: this.#settings.clock.now(),
        ...options,
        kind: SpanKind.CLIENT,
        attributes: this.#settings.named({
          [conventional.systemName]: kafka,
          [conventional.operationName]: operation,
          [conventional.destinationName]: batch.topic,
          [conventional.partitionId]: String(batch.partition),
          [conventional.clientId]: batch.producer.clientId,
          ...numbersOf(batch),
          ...attributes,
        }),
      },
      parent,
    );
  }
}

/** The id as text: it has 64 bits. */
function numbersOf({ producerId, epoch, baseSequence }: BatchInfo): Attributes {
  if (baseSequence < 0) return {};
  return { [own.producerId]: String(producerId), [own.producerEpoch]: epoch, [own.baseSequence]: baseSequence };
}
