import { DedupConfigError } from './errors.ts';
import type { FingerprintSource } from './fingerprint.ts';
import { type DedupHooks, HOOK_NAMES } from './hooks.ts';
import { IDEMPOTENCY_KEY_HEADER, type KeySource } from './key.ts';
import type { ConsumedMessage } from './message.ts';
import type { DedupStore } from './store.ts';

export interface DeduplicatorOptions<S extends DedupStore, M extends ConsumedMessage = ConsumedMessage> {
  /** Where keys are kept: `memoryStore()`, `postgresStore()`, `pgliteStore()` or `redisStore()`. */
  readonly store: S;
  /** Scopes the keys: the same key in two namespaces is two keys. Name the effect, as in `ledger`. 1 to 100 bytes, no NUL. */
  readonly namespace: string;
  /** Where the business's key is. The header `idempotency-key` by default. */
  readonly key?: KeySource<M>;
  /** What tells a resend from another payload under the same key. `'value'` by default. */
  readonly fingerprint?: FingerprintSource<M>;
  /** How long a processed key is remembered, at least. Longer than the longest replay you might do (rule D8). 7 days by default. */
  readonly retentionMs?: number;
  /**
   * A message without a key fails by default. `'use-position'` takes topic, partition and offset as its key: that
   * recognises the same record read twice, but not the same event sent twice.
   */
  readonly onMissingKey?: 'fail' | 'use-position';
  /** When another consumer is processing the key: wait for its result (the default), or report `in-progress` at once. */
  readonly onInProgress?: 'wait' | 'report';
  /** How long to wait for it before reporting `in-progress`. 30 s by default. */
  readonly waitMs?: number;
  /** Keep what the handler returns, as JSON, and hand it to duplicates. Off by default: it costs one write more a message. */
  readonly keepResult?: boolean;
  /** How long the store may take to answer before the message fails. 30 s by default. */
  readonly storeTimeoutMs?: number;
  /** Lease stores only: how long a claim is held after its holder was last heard of. 30 s by default; renewed while the handler runs. */
  readonly leaseMs?: number;
  /** Transaction stores only: store the next offset of each partition in the same transaction, to resume from there. */
  readonly commitOffsets?: boolean;
  readonly hooks?: DedupHooks;
}

export interface Settings {
  readonly namespace: string;
  readonly key: KeySource;
  readonly fingerprint: FingerprintSource;
  readonly retentionMs: number;
  readonly onMissingKey: 'fail' | 'use-position';
  readonly waitMs: number;
  readonly keepResult: boolean;
  readonly storeTimeoutMs: number;
  readonly leaseMs: number;
  readonly commitOffsets: boolean;
  readonly hooks: DedupHooks;
}

const DAY_MS = 86_400_000;
const MAX_NAMESPACE_BYTES = 100;
/** setTimeout's own limit: a longer delay fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** A century: far above any use, and far below where milliseconds stop being exact. */
const MAX_RETENTION_MS = 36_500 * DAY_MS;

const KNOWN = new Set<keyof DeduplicatorOptions<DedupStore>>([
  'store',
  'namespace',
  'key',
  'fingerprint',
  'retentionMs',
  'onMissingKey',
  'onInProgress',
  'waitMs',
  'keepResult',
  'storeTimeoutMs',
  'leaseMs',
  'commitOffsets',
  'hooks',
]);

/** Checks every option and fills in the defaults. Throws {@link DedupConfigError}; unknown options are errors too. */
export function resolveOptions<S extends DedupStore, M extends ConsumedMessage>(
  options: DeduplicatorOptions<S, M>,
): Settings {
  if (typeof options !== 'object' || options === null) fail('options', 'must be an object');
  for (const name of Object.keys(options)) {
    if (!KNOWN.has(name as keyof DeduplicatorOptions<DedupStore>))
      fail(name, `is not an option; the options are ${[...KNOWN].join(', ')}`);
  }
  const { store, namespace, hooks = {} } = options;
  if (store?.kind !== 'lease' && store?.kind !== 'transaction') {
    fail('store', 'must be a store: memoryStore(), postgresStore(), pgliteStore(), redisStore()');
  }
  checkNamespace(namespace);
  for (const name of Object.keys(hooks)) {
    if (!(HOOK_NAMES as readonly string[]).includes(name))
      fail('hooks', `has no ${name}; the hooks are ${HOOK_NAMES.join(', ')}`);
  }
  if (store.kind === 'transaction' && options.leaseMs !== undefined) {
    fail(
      'leaseMs',
      `has no meaning with the ${store.name} store, where a claim lasts as long as its transaction; leave it out`,
    );
  }
  if (store.kind === 'lease' && options.commitOffsets) {
    fail(
      'commitOffsets',
      `needs a store with transactions; the ${store.name} store has none: leave it out, or use Postgres`,
    );
  }
  const retentionMs = duration('retentionMs', options.retentionMs ?? 7 * DAY_MS, 1000, MAX_RETENTION_MS);
  const leaseMs = duration('leaseMs', options.leaseMs ?? Math.min(30_000, retentionMs), 100, MAX_TIMER_MS);
  if (leaseMs > retentionMs)
    fail('leaseMs', `is ${leaseMs}, longer than retentionMs, ${retentionMs}; make it shorter`, 'retentionMs');
  const onInProgress = choice('onInProgress', options.onInProgress ?? 'wait', ['wait', 'report']);
  if (onInProgress === 'report' && options.waitMs !== undefined) {
    fail('waitMs', "has no meaning with onInProgress: 'report'; leave one of them out", 'onInProgress');
  }
  return {
    namespace,
    key: (options.key ?? { header: IDEMPOTENCY_KEY_HEADER }) as KeySource,
    fingerprint: (options.fingerprint ?? 'value') as FingerprintSource,
    retentionMs,
    onMissingKey: choice('onMissingKey', options.onMissingKey ?? 'fail', ['fail', 'use-position']),
    waitMs: onInProgress === 'report' ? 0 : duration('waitMs', options.waitMs ?? 30_000, 1, MAX_TIMER_MS),
    keepResult: flag('keepResult', options.keepResult),
    storeTimeoutMs: duration('storeTimeoutMs', options.storeTimeoutMs ?? 30_000, 1, MAX_TIMER_MS),
    leaseMs,
    commitOffsets: flag('commitOffsets', options.commitOffsets),
    hooks,
  };
}

function checkNamespace(namespace: unknown): void {
  const usable =
    typeof namespace === 'string' &&
    namespace !== '' &&
    namespace.isWellFormed() &&
    !namespace.includes('\0') &&
    Buffer.byteLength(namespace) <= MAX_NAMESPACE_BYTES;
  if (!usable) fail('namespace', `must be text of 1 to ${MAX_NAMESPACE_BYTES} bytes without NUL, such as 'ledger'`);
}

function duration(field: string, value: unknown, min: number, max: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
    fail(field, `is ${String(value)}; it must be a whole number of milliseconds from ${min} to ${max}`);
  }
  return value as number;
}

function flag(field: string, value: unknown): boolean {
  if (value !== undefined && typeof value !== 'boolean') fail(field, `is ${String(value)}; it must be true or false`);
  return value === true;
}

function choice<T extends string>(field: string, value: T, choices: readonly T[]): T {
  if (!choices.includes(value))
    fail(field, `is ${JSON.stringify(value)}; it must be one of ${choices.map((c) => `'${c}'`).join(', ')}`);
  return value;
}

function fail(field: string, problem: string, ...others: string[]): never {
  throw new DedupConfigError(`${field}: ${problem}`, [field, ...others]);
}
