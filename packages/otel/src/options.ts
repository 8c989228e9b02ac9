import type { MeterProvider, TextMapPropagator, TracerProvider } from '@opentelemetry/api';
import { ConfigError, type RecordBytes } from '@sendonce/producer-core';

/** When a batch's attempts get spans of their own: as soon as one of them failed, always, or never. */
export type AttemptSpans = 'on-retry' | 'always' | 'never';

/** How a record's key is shown: not at all, as text, as the first half of its SHA-256, or as a function says. */
export type KeyAttribute = 'off' | 'text' | 'hash' | ((key: RecordBytes) => string | undefined);

export interface TelemetryOptions {
  /** Default: the one registered globally, looked up at each use, so that it may be registered later. */
  readonly tracerProvider?: TracerProvider;
  /** Default: the one registered globally; counts from before its registration are not lost. */
  readonly meterProvider?: MeterProvider;
  /** How context is written into headers. Default: the one registered globally, which is W3C trace context and baggage in every SDK setup. */
  readonly propagator?: TextMapPropagator;
  /** Default `'on-retry'`. */
  readonly attemptSpans?: AttemptSpans;
  /** Whether records carry trace context in their headers. Default true: about 70 bytes a record inside a trace. */
  readonly propagate?: boolean;
  /** Default `'off'`: keys may be account numbers. Used for spans of records and of consumed messages. */
  readonly keyAttribute?: KeyAttribute;
  /**
   * What a `process` span is the child of: `'active'`, the span that is active, with a link to the producer's (the producer's is the parent when
   * none is active), or `'producer'`, always the producer's. Default `'active'`.
   */
  readonly consumerParent?: 'active' | 'producer';
  /**
   * Records sent outside any trace start one of their own, if the sampler says so: at most about so many a second are put to it, every n-th when there
   * are more. 0 for none. Default 25.
   */
  readonly rootSpansPerSecond?: number;
  /** Topics that are told apart in metrics; those beyond are counted together as `_other`. Default 100. */
  readonly maxTopics?: number;
  /**
   * Names of attributes: those of the semantic conventions 1.45, or with the names that four of them had up to 1.44 beside them. Default
   * `'current'`, or `'both'` where the environment variable OTEL_SEMCONV_STABILITY_OPT_IN contains `messaging/dup`.
   */
  readonly attributeNames?: 'current' | 'both';
  /**
   * Milliseconds since 1970, for producers on another clock than the platform's: `() => runtime.wallClockMs()` with a simulated runtime. Default: the
   * platform's.
   */
  readonly clock?: () => number;
}

export interface ResolvedTelemetryOptions {
  readonly tracerProvider: TracerProvider | undefined;
  readonly meterProvider: MeterProvider | undefined;
  readonly propagator: TextMapPropagator | undefined;
  readonly attemptSpans: AttemptSpans;
  readonly propagate: boolean;
  readonly keyAttribute: KeyAttribute;
  readonly consumerParent: 'active' | 'producer';
  readonly rootSpansPerSecond: number;
  readonly maxTopics: number;
  readonly attributeNames: 'current' | 'both';
  readonly clock: (() => number) | undefined;
}

type Check = (name: string, value: unknown) => void;

function fail(name: string, expected: string, value: unknown): never {
  const shown = typeof value === 'object' ? 'an object' : typeof value === 'string' ? `'${value}'` : String(value);
  throw new ConfigError(`Option ${name} must be ${expected}, not ${shown}.`, [name]);
}

const withMethods =
  (...methods: string[]): Check =>
  (name, value) => {
    const has = (method: string) => typeof (value as Record<string, unknown> | null)?.[method] === 'function';
    if (!methods.every(has)) fail(name, `an object with ${methods.join(', ')}`, value);
  };
const oneOf =
  (...choices: string[]): Check =>
  (name, value) => {
    if (!choices.includes(value as string)) fail(name, choices.map((choice) => `'${choice}'`).join(' or '), value);
  };
const count: Check = (name, value) => {
  if (!(Number.isInteger(value) && (value as number) >= 0)) fail(name, 'a whole number from 0', value);
};

const checks: Readonly<Record<keyof TelemetryOptions, Check>> = {
  tracerProvider: withMethods('getTracer'),
  meterProvider: withMethods('getMeter'),
  propagator: withMethods('inject', 'extract', 'fields'),
  attemptSpans: oneOf('on-retry', 'always', 'never'),
  propagate: (name, value) => {
    if (typeof value !== 'boolean') fail(name, 'true or false', value);
  },
  keyAttribute: (name, value) => {
    if (typeof value !== 'function' && !['off', 'text', 'hash'].includes(value as string)) {
      fail(name, "'off', 'text', 'hash' or a function (key) => string | undefined", value);
    }
  },
  consumerParent: oneOf('active', 'producer'),
  rootSpansPerSecond: count,
  maxTopics: count,
  attributeNames: oneOf('current', 'both'),
  clock: (name, value) => {
    if (typeof value !== 'function') fail(name, 'a function that returns milliseconds since 1970', value);
  },
};

/** @throws {ConfigError} naming the option that is wrong, and what to write instead. */
export function resolveOptions(options: TelemetryOptions): ResolvedTelemetryOptions {
  if (options === null || typeof options !== 'object') {
    throw new ConfigError('createTelemetry takes an object of options, or nothing.', ['options']);
  }
  for (const [name, value] of Object.entries(options)) {
    const check = checks[name as keyof TelemetryOptions];
    if (check === undefined) {
      throw new ConfigError(`There is no option ${name}. Options are ${Object.keys(checks).join(', ')}.`, [name]);
    }
    if (value !== undefined) check(name, value);
  }
  const optIn = (process.env.OTEL_SEMCONV_STABILITY_OPT_IN ?? '').split(',').map((part) => part.trim());
  return {
    tracerProvider: options.tracerProvider,
    meterProvider: options.meterProvider,
    propagator: options.propagator,
    attemptSpans: options.attemptSpans ?? 'on-retry',
    propagate: options.propagate ?? true,
    keyAttribute: options.keyAttribute ?? 'off',
    consumerParent: options.consumerParent ?? 'active',
    rootSpansPerSecond: options.rootSpansPerSecond ?? 25,
    maxTopics: options.maxTopics ?? 100,
    attributeNames: options.attributeNames ?? (optIn.includes('messaging/dup') ? 'both' : 'current'),
    clock: options.clock,
  };
}
