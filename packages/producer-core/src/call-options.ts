import { ConfigError } from './errors.ts';
import { kindOf } from './record.ts';

export interface SendOptions {
  /** Ends the wait for memory or metadata (rule C14): the send rejects with the signal's reason. Once the record is in a batch it has no effect. */
  readonly signal?: AbortSignal;
}

export interface CloseOptions {
  /** The longest `close` waits for what is pending. Default: `deliveryTimeoutMs`. What is left then rejects, each record with its fate. */
  readonly timeoutMs?: number;
}

export interface CreateProducerOptions {
  /** Ends connecting: `createProducer` rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Reads the options of a call that takes a signal and nothing else.
 * @throws {ConfigError} naming the option that is wrong, or that there is not (rule C15).
 */
export function readSignal(call: string, options: SendOptions | undefined): AbortSignal | undefined {
  if (options === undefined) return undefined;
  checkFields(call, options, 'signal');
  const { signal } = options;
  if (signal !== undefined && !isAbortSignal(signal)) {
    throw new ConfigError(`Option signal of ${call} must be an AbortSignal, not ${kindOf(signal)}.`, ['signal']);
  }
  return signal;
}

/**
 * Reads the options of `close`.
 * @throws {ConfigError} naming the option that is wrong, or that there is not (rule C15).
 */
export function readTimeoutMs(options: CloseOptions | undefined): number | undefined {
  if (options === undefined) return undefined;
  checkFields('close', options, 'timeoutMs');
  const { timeoutMs } = options;
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
    const shown = typeof timeoutMs === 'number' ? String(timeoutMs) : kindOf(timeoutMs);
    throw new ConfigError(`Option timeoutMs of close must be milliseconds from 0, not ${shown}.`, ['timeoutMs']);
  }
  return timeoutMs;
}

function checkFields(call: string, options: object, known: string): void {
  if (options === null || typeof options !== 'object') {
    throw new ConfigError(`The options of ${call} must be an object { ${known} }, not ${kindOf(options)}.`, [
      'options',
    ]);
  }
  for (const name in options) {
    if (name !== known) throw new ConfigError(`There is no option ${name} of ${call}; there is ${known}.`, [name]);
  }
}

function isAbortSignal(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  const { aborted, addEventListener, throwIfAborted } = value as Partial<AbortSignal>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function' && typeof throwIfAborted === 'function';
}
