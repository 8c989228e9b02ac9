import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { conventional } from './semconv.ts';

/** The type again as the description: Zipkin shows a span red only when it has one. An error's own message may hold what nobody should read. */
export function markFailed(span: Span, errorType: string): void {
  span.setAttribute(conventional.errorType, errorType);
  span.setStatus({ code: SpanStatusCode.ERROR, message: errorType });
}
