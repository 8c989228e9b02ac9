import { type Context, createContextKey } from '@opentelemetry/api';

const key = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/** Whether the SDK marked this as work that is not to be traced, such as an exporter's own requests. */
export function isTracingSuppressed(context: Context): boolean {
  return context.getValue(key) === true;
}
