import { isSpanContextValid, type SpanContext, TraceFlags } from '@opentelemetry/api';

const NOTE = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** What is kept with a claim, so that a duplicate's span can link to this one: the form of a `traceparent`. Nothing for a span that is not exported. */
export function noteOf({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  if ((traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** The span that a claim's note names. Nothing where another hook wrote the note. */
export function spanContextIn(note: string | null): SpanContext | undefined {
  const [, traceId, spanId, flags] = NOTE.exec(note ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(spanContext) ? spanContext : undefined;
}
