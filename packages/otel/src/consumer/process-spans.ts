import {
  type Attributes,
  type Context,
  context,
  type Span,
  type SpanContext,
  SpanKind,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { ConsumedMessage, MessageSource, MessageWatch, OutcomeEvent } from '@sendonce/consumer-dedup';
import { keyShown, type NameAttributes, offsetShown } from '../attributes.ts';
import type { Clock } from '../clock.ts';
import { errorTypeOf } from '../error-type.ts';
import { markFailed } from '../failed-span.ts';
import type { ResolvedTelemetryOptions } from '../options.ts';
import { Pacer } from '../pacer.ts';
import type { HeaderPropagation } from '../propagation.ts';
import type { ProviderLookup } from '../providers.ts';
import { conventional, kafka, own } from '../semconv.ts';
import { isTracingSuppressed } from '../suppression.ts';
import { noteOf, spanContextIn } from './first-run.ts';

export interface ProcessSpansPorts {
  readonly providers: ProviderLookup;
  readonly propagation: HeaderPropagation;
  readonly options: ResolvedTelemetryOptions;
  readonly named: NameAttributes;
  readonly clock: Clock;
}

/** A span for each message that the deduplicator is given, from the call to its outcome; the handler runs inside it. */
export class ProcessSpans {
  readonly #ports: ProcessSpansPorts;
  readonly #roots: Pacer;
  readonly #open = new Set<Span>();

  constructor(ports: ProcessSpansPorts) {
    this.#ports = ports;
    this.#roots = new Pacer(ports.options.rootSpansPerSecond, performance.now());
  }

  get open(): number {
    return this.#open.size;
  }

  message(message: ConsumedMessage, source: MessageSource): MessageWatch | undefined {
    const active = context.active();
    if (isTracingSuppressed(active)) return undefined;
    const received = this.#ports.propagation.extractInto(trace.deleteSpan(active), message.headers);
    const creation = validSpanContext(received) ?? null;
    const isInside = validSpanContext(active) !== undefined;
    const mayBeProducers = creation !== null && this.#ports.options.consumerParent === 'producer';
    // The context that the message's span and its handler's work belong to.
    const parent = isInside && !mayBeProducers ? active : received;
    const parentSpan = validSpanContext(parent);
    const maySpan = parentSpan === undefined ? this.#mayBeRoot() : (parentSpan.traceFlags & TraceFlags.SAMPLED) !== 0;
    if (!maySpan) return { run: (work) => context.with(parent, work) };
    const span = this.#start(message, source, parent, creation);
    if (span.isRecording()) this.#open.add(span);
    const note = span.isRecording() ? noteOf(span.spanContext()) : undefined;
    return {
      ...(note === undefined ? {} : { note }),
      run: (work) => context.with(trace.setSpan(parent, span), work),
      onOutcome: (event) => this.#end(span, event),
    };
  }

  abandon(): void {
    for (const span of this.#open) span.end(this.#ports.clock.now());
    this.#open.clear();
  }

  #mayBeRoot(): boolean {
    this.#roots.adapt(performance.now());
    return this.#roots.pick();
  }

  #start(message: ConsumedMessage, source: MessageSource, parent: Context, creation: SpanContext | null): Span {
    const { topic } = source;
    return this.#ports.providers.tracer.startSpan(
      topic === null ? 'process' : `process ${topic}`,
      {
        kind: SpanKind.CONSUMER,
        startTime: this.#ports.clock.now(),
        attributes: this.#ports.named(this.#attributes(message, source)),
        links: creation === null ? [] : [{ context: creation, attributes: { [own.link]: 'creation' } }],
      },
      parent,
    );
  }

  #attributes({ key, value }: ConsumedMessage, { topic, partition, offset }: MessageSource): Attributes {
    const place = offsetShown(offset);
    const shown = keyShown(key, this.#ports.options.keyAttribute);
    return {
      [conventional.systemName]: kafka,
      [conventional.operationName]: 'process',
      [conventional.operationType]: 'process',
      ...(topic === null ? {} : { [conventional.destinationName]: topic }),
      ...(partition === null ? {} : { [conventional.partitionId]: String(partition) }),
      ...(place === undefined ? {} : { [conventional.offset]: place }),
      ...(shown === undefined ? {} : { [conventional.messageKey]: shown }),
      ...(value === null ? { [conventional.tombstone]: true } : {}),
    };
  }

  #end(span: Span, event: OutcomeEvent): void {
    if (!this.#open.delete(span)) return;
    const { status, reason, store, namespace, key, error, first } = event;
    const shown = keyShown(key, this.#ports.options.keyAttribute);
    const firstOffset = first === null ? undefined : offsetShown(first.source.offset);
    span.setAttributes({
      [own.dedupOutcome]: status,
      [own.dedupStore]: store,
      [own.dedupNamespace]: namespace,
      ...(reason === null ? {} : { [own.dedupFailure]: reason }),
      ...(shown === undefined ? {} : { [own.dedupKey]: shown }),
      ...(first === null || first.source.topic === null ? {} : { [own.dedupFirstTopic]: first.source.topic }),
      ...(first === null || first.source.partition === null
        ? {}
        : { [own.dedupFirstPartition]: String(first.source.partition) }),
      ...(firstOffset === undefined ? {} : { [own.dedupFirstOffset]: firstOffset }),
    });
    const firstRun = first === null ? undefined : spanContextIn(first.note);
    if (firstRun !== undefined) {
      span.addLink({ context: firstRun, attributes: { [own.link]: 'first_processing' } });
      // Some backends drop links.
      span.setAttributes({ [own.dedupFirstTraceId]: firstRun.traceId, [own.dedupFirstSpanId]: firstRun.spanId });
    }
    if (status === 'failed') {
      markFailed(span, errorTypeOf(error));
    }
    span.end(this.#ports.clock.now());
  }
}

function validSpanContext(from: Context): SpanContext | undefined {
  const spanContext = trace.getSpanContext(from);
  return spanContext !== undefined && trace.isSpanContextValid(spanContext) ? spanContext : undefined;
}
