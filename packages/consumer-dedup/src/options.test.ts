import { describe, expect, it } from 'vitest';
import { createDeduplicator } from './deduplicator.ts';
import { DedupConfigError } from './errors.ts';
import { memoryStore } from './memory-store.ts';
import type { DeduplicatorOptions } from './options.ts';
import type { DedupStore, TransactionStore } from './store.ts';

const store = memoryStore();
const transactional = { kind: 'transaction', name: 'postgres' } as TransactionStore<unknown>;
const wrong = (options: object): readonly string[] => {
  try {
    createDeduplicator({ store, namespace: 'n', ...options } as DeduplicatorOptions<DedupStore>);
  } catch (error) {
    expect(error).toBeInstanceOf(DedupConfigError);
    return (error as DedupConfigError).fields;
  }
  throw new Error(`accepted: ${JSON.stringify(options)}`);
};

describe('options that make no sense are refused with their names', () => {
  it.each<[string, object, string[]]>([
    ['an unknown one', { retention: 5 }, ['retention']],
    ['no store', { store: undefined }, ['store']],
    ['an empty namespace', { namespace: '' }, ['namespace']],
    ['a namespace with NUL', { namespace: 'a\0b' }, ['namespace']],
    ['a namespace that is too long', { namespace: 'é'.repeat(51) }, ['namespace']],
    ['a retention that is not whole', { retentionMs: 1000.5 }, ['retentionMs']],
    ['a retention that is too short', { retentionMs: 999 }, ['retentionMs']],
    ['an endless retention', { retentionMs: Number.POSITIVE_INFINITY }, ['retentionMs']],
    ['a lease beyond what timers can hold', { leaseMs: 2 ** 31 }, ['leaseMs']],
    ['a lease longer than the retention (R4)', { leaseMs: 5000, retentionMs: 4000 }, ['leaseMs', 'retentionMs']],
    ['a lease where there are none', { store: transactional, leaseMs: 5000 }, ['leaseMs']],
    ['offsets where there are no transactions', { commitOffsets: true }, ['commitOffsets']],
    ['a wait that nobody waits', { onInProgress: 'report', waitMs: 5 }, ['waitMs', 'onInProgress']],
    ['an unknown choice', { onInProgress: 'skip' }, ['onInProgress']],
    ['another unknown choice', { onMissingKey: 'skip' }, ['onMissingKey']],
    ['text for a flag', { keepResult: 'yes' }, ['keepResult']],
    ['an unknown hook', { hooks: { onOutcomes: () => {} } }, ['hooks']],
    ['a fingerprint of no kind', { fingerprint: 'key' }, ['fingerprint']],
    ['a key of no kind', { key: { field: 'id' } }, ['key']],
  ])('%s', (_, options, fields) => {
    expect(wrong(options)).toEqual(fields);
  });
});
