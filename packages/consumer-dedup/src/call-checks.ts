import { DedupConfigError } from './errors.ts';

/** More messages in one call would hold their keys, or their leases, for too long. */
export const MAX_BATCH_MESSAGES = 10_000;

export function checkIsolation(isolate: unknown): void {
  if (isolate === 'batch' || isolate === 'message') return;
  throw new DedupConfigError(`isolate: is ${JSON.stringify(isolate)}; it must be 'batch' or 'message'`, ['isolate']);
}

export function checkHandler(handler: unknown): void {
  if (typeof handler === 'function') return;
  throw new DedupConfigError('handler: must be a function', ['handler']);
}

export function checkOptions(options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw new DedupConfigError('options: must be an object', ['options']);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw new DedupConfigError(`${name}: is not an option; the options are ${known.join(', ')}`, [name]);
  }
}
