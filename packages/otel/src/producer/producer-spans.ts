import {
  type Attributes,
  type Context,
  context,
  type HrTime,
  INVALID_TRACEID,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type {
  AttemptInfo,
  AttemptOutcome,
  BatchInfo,
  BatchOutcome,
  ProducerEvent,
  ProducerIdOutcome,
  ProducerIdRequest,
  ProducerInfo,
  ProducerRecord,
  RecordHeaders,
  RecordWatch,
} from '@sendonce/producer-core';
import { keyShown, type NameAttributes } from '../attributes.ts';
import type { Clock } from '../clock.ts';
import { errorTypeOf } from '../error-type.ts';
import { markFailed } from '../failed-span.ts';
import type { ResolvedTelemetryOptions } from '../options.ts';
import type { HeaderPropagation } from '../propagation.ts';
import type { ProviderLookup } from '../providers.ts';
import { conventional, kafka, own } from '../semconv.ts';
import { isTracingSuppressed } from '../suppression.ts';
import type { BatchFacts } from './batch-facts.ts';
import { BatchTrace, type BatchTraceSettings } from './batch-trace.ts';
import { RecordTrace, type RecordWatchOwner } from './record-trace.ts';

export interface ProducerSpansPorts {
  readonly providers: ProviderLookup;
  readonly propagation: HeaderPropagation;
  readonly options: ResolvedTelemetryOptions;
  readonly named: NameAttributes;
  readonly clock: Clock;
  factsOf(batch: BatchInfo): BatchFacts;
  recordSettled(record: RecordTrace, error: Error | null): void;
}

/** The spans of records, of their batches and of requests for producer ids. Whatever is started is ended (`open`). */
export class ProducerSpans implements RecordWatchOwner {
  readonly #ports: ProducerSpansPorts;
  readonly #batchSettings: BatchTraceSettings;
  readonly #openRecords = new Set<RecordTrace>();
  readonly #openBatches = new Map<BatchFacts, BatchTrace>();
  readonly #openRequests = new Map<ProducerIdRequest, Span>();

  constructor(ports: ProducerSpansPorts) {
    this.#ports = ports;
    this.#batchSettings = {
      tracer: () => ports.providers.tracer,
      named: ports.named,
      attemptSpans: ports.options.attemptSpans,
      clock: ports.clock,
    };
  }

  /** Spans and batches that are not over. */
  get open(): number {
    return this.#openRecords.size + this.#openBatches.size + this.#openRequests.size;
  }

  /**
   * In the caller's context. `isMeasured`: the record's duration is measured. `mayBeRoot`: outside any trace, it may start one.
   * In a trace that is not sampled it gets no span, only the context carried on.
   */
  record(
    record: ProducerRecord,
    producer: ProducerInfo,
    isMeasured: boolean,
    mayBeRoot: boolean,
  ): RecordWatch | undefined {
    const active = context.active();
    // Outside any trace, and most records of a busy producer are: nothing to look at.
    if (active === ROOT_CONTEXT && !mayBeRoot) return this.#unseen(record, isMeasured, undefined);
    const parent = trace.getSpanContext(active);
    // Whether its ids are well formed is looked at before they are written; a trace that is none has this one.
    const isInTrace = parent !== undefined && parent.traceId !== INVALID_TRACEID;
    if (isTracingSuppressed(active)) return this.#unseen(record, isMeasured, undefined);
    const mayStart = isInTrace ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0 : mayBeRoot;
    if (!mayStart) {
      const carriesSomething = isInTrace || propagation.getBaggage(active) !== undefined;
      return this.#unseen(record, isMeasured, carriesSomething ? active : undefined);
    }
    return this.#start(record, producer, active, isMeasured);
  }

  joined(record: RecordTrace, batch: BatchInfo): void {
    const facts = this.#ports.factsOf(batch);
    if (record.facts === facts) return;
    record.facts = facts;
    if (record.span !== null) facts.members.push(record);
  }

  settled(record: RecordTrace, error: Error | null): void {
    this.#openRecords.delete(record);
    this.#ports.recordSettled(record, error);
  }

  named(attributes: Attributes): Attributes {
    return this.#ports.named(attributes);
  }

  now(): HrTime {
    return this.#ports.clock.now();
  }

  batchDrained(facts: BatchFacts): void {
    if (facts.trace !== null) {
      facts.trace.renumbered();
      return;
    }
    const { members } = facts;
    if (members.length === 0) return;
    facts.members = [];
    facts.trace = new BatchTrace(this.#batchSettings, facts, members);
    this.#openBatches.set(facts, facts.trace);
  }

  batchSplit(facts: BatchFacts, parts: readonly BatchInfo[]): void {
    const { trace: whole } = facts;
    if (whole === null) return;
    whole.split(parts);
    this.#forgetIfOver(facts, whole);
  }

  attemptStarted(facts: BatchFacts, attempt: AttemptInfo): void {
    facts.trace?.attemptStarted(attempt);
  }

  attemptEnded(facts: BatchFacts, attempt: AttemptInfo, outcome: AttemptOutcome): void {
    facts.trace?.attemptEnded(attempt, outcome);
    if (facts.trace !== null) this.#forgetIfOver(facts, facts.trace);
  }

  batchSettled(facts: BatchFacts, outcome: BatchOutcome): void {
    facts.trace?.settled(outcome);
    if (facts.trace !== null) this.#forgetIfOver(facts, facts.trace);
  }

  /** Tells the open batches of a partition what happened to it. */
  partitionEvent(
    event: ProducerEvent & { readonly topic: string; readonly partition: number },
    producer: ProducerInfo,
    name: string,
    attributes: Attributes,
  ): void {
    for (const [{ batch }, batchTrace] of this.#openBatches) {
      if (batch.producer !== producer || batch.topic !== event.topic || batch.partition !== event.partition) continue;
      batchTrace.event(name, attributes);
    }
  }

  idRequested(request: ProducerIdRequest): void {
    const span = this.#ports.providers.tracer.startSpan(
      'init_producer_id',
      {
        kind: SpanKind.CLIENT,
        startTime: this.#ports.clock.now(),
        attributes: this.named({
          [conventional.systemName]: kafka,
          [conventional.operationName]: 'init_producer_id',
          [conventional.clientId]: request.producer.clientId,
          [own.reason]: request.reason,
        }),
      },
      ROOT_CONTEXT,
    );
    this.#openRequests.set(request, span);
  }

  idAnswered(request: ProducerIdRequest, { identity, error }: ProducerIdOutcome): void {
    const span = this.#openRequests.get(request);
    if (span === undefined) return;
    this.#openRequests.delete(request);
    if (identity !== null) {
      span.setAttributes({ [own.producerId]: String(identity.producerId), [own.producerEpoch]: identity.epoch });
    }
    if (error !== null) markFailed(span, errorTypeOf(error));
    span.end(this.#ports.clock.now());
  }

  /** Ends what is still open, of one producer or of all. A producer that closed has settled everything; a transport may still owe answers. */
  abandon(producer: ProducerInfo | null): void {
    for (const [facts, batchTrace] of this.#openBatches) {
      if (producer !== null && facts.batch.producer !== producer) continue;
      batchTrace.abandon();
      this.#openBatches.delete(facts);
    }
    for (const [request, span] of this.#openRequests) {
      if (producer !== null && request.producer !== producer) continue;
      span.end(this.#ports.clock.now());
      this.#openRequests.delete(request);
    }
    if (producer !== null) return;
    for (const record of this.#openRecords) record.end(null, null);
    this.#openRecords.clear();
  }

  #start(
    record: ProducerRecord,
    producer: ProducerInfo,
    active: Context,
    isMeasured: boolean,
  ): RecordWatch | undefined {
    const supplied = this.#suppliedContext(record);
    const span = this.#ports.providers.tracer.startSpan(
      `send ${record.topic}`,
      {
        kind: supplied === null ? SpanKind.PRODUCER : SpanKind.CLIENT,
        startTime: this.#ports.clock.now(),
        attributes: this.#recordAttributes(record, producer),
        links: supplied === null ? [] : [{ context: supplied, attributes: { [own.link]: 'creation' } }],
      },
      active,
    );
    const context = trace.setSpan(active, span);
    if (!span.isRecording()) return this.#unseen(record, isMeasured, context);
    let headers: RecordHeaders | undefined;
    try {
      headers = this.#headersWith(record, context, supplied);
    } catch (error) {
      span.end();
      throw error;
    }
    const traced = new RecordTrace(
      this,
      record.topic,
      span,
      context,
      headers,
      isMeasured ? this.#ports.clock.elapsedMs() : null,
    );
    this.#openRecords.add(traced);
    return traced;
  }

  /** A record without a span: perhaps its duration is measured, perhaps it carries a context on. */
  #unseen(record: ProducerRecord, isMeasured: boolean, carried: Context | undefined): RecordWatch | undefined {
    const headers =
      carried === undefined ? undefined : this.#headersWith(record, carried, this.#suppliedContext(record));
    if (isMeasured)
      return new RecordTrace(this, record.topic, null, ROOT_CONTEXT, headers, this.#ports.clock.elapsedMs());
    return headers === undefined ? undefined : { headers };
  }

  #forgetIfOver(facts: BatchFacts, batchTrace: BatchTrace): void {
    if (batchTrace.isOver) this.#openBatches.delete(facts);
  }

  #headersWith({ headers }: ProducerRecord, carried: Context, supplied: SpanContext | null): RecordHeaders | undefined {
    if (!this.#ports.options.propagate || supplied !== null) return undefined;
    return this.#ports.propagation.inject(headers, carried) ?? undefined;
  }

  /** A valid context that the caller put into the headers is the record's creation context: it is kept, and linked to. */
  #suppliedContext({ headers }: ProducerRecord): SpanContext | null {
    return this.#ports.propagation.isPresent(headers) ? this.#ports.propagation.extract(headers) : null;
  }

  #recordAttributes({ topic, key, value, partition }: ProducerRecord, { clientId }: ProducerInfo): Attributes {
    const shown = keyShown(key, this.#ports.options.keyAttribute);
    return this.named({
      [conventional.systemName]: kafka,
      [conventional.operationName]: 'send',
      [conventional.operationType]: 'send',
      [conventional.destinationName]: topic,
      [conventional.clientId]: clientId,
      ...(partition === undefined ? {} : { [conventional.partitionId]: String(partition) }),
      ...(shown === undefined ? {} : { [conventional.messageKey]: shown }),
      ...(value === null ? { [conventional.tombstone]: true } : {}),
    });
  }
}
