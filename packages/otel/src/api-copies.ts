import { readFileSync } from 'node:fs';
import { metrics, trace } from '@opentelemetry/api';

const registryKey = Symbol.for('opentelemetry.js.api.1');

interface Registry {
  readonly version?: string;
  readonly trace?: unknown;
  readonly metrics?: unknown;
}

/**
 * Two copies of the API package find each other through one registry, unless ours is newer in its minor version than the one the
 * SDK registered with: then every call of ours does nothing, and nobody says so.
 */
export function sdkIsOutOfReach(): boolean {
  const registry = (globalThis as { [registryKey]?: Registry })[registryKey];
  if (registry === undefined) return false;
  if (registry.trace !== undefined) return trace.getTracerProvider() !== registry.trace;
  return registry.metrics !== undefined && metrics.getMeterProvider() !== registry.metrics;
}

let hasWarned = false;

/** Says once a process that telemetry leads nowhere, and how to mend it. */
export function warnOfApiCopies(): void {
  if (hasWarned || !sdkIsOutOfReach()) return;
  hasWarned = true;
  const registered = (globalThis as { [registryKey]?: Registry })[registryKey]?.version ?? 'unknown';
  process.emitWarning(
    `The OpenTelemetry SDK registered with @opentelemetry/api ${registered}, and @sendonce/otel uses another copy, ${ownApiVersion()}, which can't ` +
      'reach it: spans and metrics of sendonce go nowhere. Install one copy for both: npm ls @opentelemetry/api, then npm dedupe.',
    { type: 'SendonceWarning', code: 'SENDONCE_OTEL_API_COPIES' },
  );
}

/** For the message alone. The API does not export its version, and neither its manifest. */
function ownApiVersion(): string {
  try {
    const [folder] = import.meta.resolve('@opentelemetry/api').split(/(?<=\/node_modules\/@opentelemetry\/api\/)/);
    const manifest: unknown = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
    return String((manifest as { version?: unknown }).version);
  } catch {
    return 'of unknown version';
  }
}
