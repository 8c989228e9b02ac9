/** OpenTelemetry for sendonce. */
export type { AttemptSpans, KeyAttribute, TelemetryOptions } from './options.ts';
export { createTelemetry, type Telemetry, type TelemetryInstrumentationConfig } from './telemetry.ts';
