import {
  type Context,
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  trace,
} from '@opentelemetry/api';
import { headerValues, type MessageHeaders } from '@sendonce/consumer-dedup';
import type { RecordHeaders } from '@sendonce/producer-core';

const traceparent = 'traceparent';
/** One look at the whole instead of one at each character: this is asked for every record. */
const usualTraceparent = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]$/;
const w3cFields: ReadonlySet<string> = new Set([traceparent, 'tracestate', 'baggage']);

type Pair = readonly [name: string, value: Uint8Array | string | null];

const setter: TextMapSetter<Pair[]> = {
  set: (carrier, name, value) => {
    carrier.push([name, value]);
  },
};

/** Fields that make sense once only. W3C lets `tracestate` repeat: its values are one list. */
const mayRepeat: ReadonlySet<string> = new Set(['tracestate', 'baggage']);

class HeaderGetter implements TextMapGetter<MessageHeaders> {
  readonly #onConflict: () => void;

  constructor(onConflict: () => void) {
    this.#onConflict = onConflict;
  }

  keys(headers: MessageHeaders): string[] {
    return headerNames(headers);
  }

  /** Nothing for a field that is there more than once with different values: which of them is true can't be known. */
  get(headers: MessageHeaders, name: string): string | undefined {
    const values = headerValues(headers, name)
      .filter((value) => value !== null && value !== undefined)
      .map((value) => (typeof value === 'string' ? value : Buffer.from(value).toString('utf8')));
    if (values.length < 2) return values[0];
    if (mayRepeat.has(name)) return values.join(',');
    if (new Set(values).size === 1) return values[0];
    this.#onConflict();
    return undefined;
  }
}

/** Trace context in record headers: written once a record, before it is encoded, so that a resend is the same bytes. */
export class HeaderPropagation {
  readonly #propagator: TextMapPropagator;
  readonly #getter: HeaderGetter;
  #fields: readonly string[] = [];
  #isW3c = false;

  constructor(propagator: TextMapPropagator, onConflict: () => void) {
    this.#propagator = propagator;
    this.#getter = new HeaderGetter(onConflict);
  }

  /** Looks which propagator there is now. */
  refresh(): void {
    try {
      this.#fields = this.#propagator.fields();
    } catch {
      // It will fail again where that is counted: when a record is sent.
      this.#fields = [];
    }
    this.#isW3c = this.#fields.includes(traceparent) && this.#fields.every((field) => w3cFields.has(field));
  }

  /** The record's headers and `context`'s, in a new list; `null` when there is nothing to add. The caller's object is left alone. */
  inject(headers: RecordHeaders | undefined, context: Context): RecordHeaders | null {
    const added = this.#w3c(context) ?? this.#injected(context);
    if (added.length === 0) return null;
    if (headers === undefined) return added;
    const replaced = new Set(added.map(([name]) => name));
    return [...pairsOf(headers).filter(([name]) => !replaced.has(name)), ...added];
  }

  /** The context that a record's or a message's headers carry, if it is a valid one. */
  extract(headers: MessageHeaders | RecordHeaders | null | undefined): SpanContext | null {
    if (headers === null || headers === undefined) return null;
    const context = this.#propagator.extract(ROOT_CONTEXT, headers as MessageHeaders, this.#getter);
    const spanContext = trace.getSpanContext(context);
    return spanContext !== undefined && trace.isSpanContextValid(spanContext) ? spanContext : null;
  }

  /** The same, with baggage and whatever else the propagator reads. */
  extractInto(context: Context, headers: MessageHeaders | null | undefined): Context {
    if (headers === null || headers === undefined) return context;
    return this.#propagator.extract(context, headers, this.#getter);
  }

  /** Whether any of the propagator's fields is among the headers. */
  isPresent(headers: RecordHeaders | undefined): boolean {
    return headers !== undefined && pairsOf(headers).some(([name]) => this.#fields.includes(name));
  }

  #injected(context: Context): Pair[] {
    const added: Pair[] = [];
    this.#propagator.inject(context, added, setter);
    return added;
  }

  /** What W3C's propagators write when there is nothing but a span, without the microsecond that they take for it. */
  #w3c(context: Context): Pair[] | null {
    if (!this.#isW3c || propagation.getBaggage(context) !== undefined) return null;
    const span = trace.getSpanContext(context);
    if (span === undefined || span.traceState !== undefined) return null;
    const { traceId, spanId, traceFlags } = span;
    const value = `00-${traceId}-${spanId}-0${traceFlags}`;
    return usualTraceparent.test(value) ? [[traceparent, value]] : null;
  }
}

function pairsOf(headers: RecordHeaders): readonly Pair[] {
  if (Array.isArray(headers)) return headers as readonly Pair[];
  return Object.entries(headers).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((each): Pair => [name, each]) : [[name, value] as Pair],
  );
}

function headerNames(headers: MessageHeaders): string[] {
  const nameOf = (name: unknown): string =>
    typeof name === 'string' ? name : Buffer.from(name as Uint8Array).toString('utf8');
  if (headers instanceof Map) return [...headers.keys()].map(nameOf);
  if (Array.isArray(headers)) {
    return headers.flatMap((header: unknown) =>
      Array.isArray(header) ? [nameOf(header[0])] : Object.keys(header as object),
    );
  }
  return Object.keys(headers);
}
