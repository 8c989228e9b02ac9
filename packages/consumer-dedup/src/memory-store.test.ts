import { describe, expect, it } from 'vitest';
import { memoryStore } from './memory-store.ts';
import { type ConformanceEnvironment, conformanceCases } from './testing/index.ts';

function memoryEnvironment(): ConformanceEnvironment {
  const store = memoryStore();
  const effects = new Map<string, number>();
  return {
    kind: 'lease',
    concurrent: true,
    rounds: 1000,
    store: () => store,
    isolatedStore: async () => memoryStore(),
    effect: async (_, name) => {
      effects.set(name, (effects.get(name) ?? 0) + 1);
    },
    effects: async (name) => effects.get(name) ?? 0,
  };
}

describe('the memory store conforms', () => {
  const environment = memoryEnvironment();
  for (const { name, rule, run } of conformanceCases.filter((one) => one.applies(environment))) {
    it(`${rule}: ${name}`, () => run(environment));
  }
});

describe('the memory store', () => {
  const claim = (key: string) => ({
    key: Buffer.from(key),
    fingerprint: null,
    source: { topic: null, partition: null, offset: null },
    note: null,
  });
  const times = { leaseMs: 100, retentionMs: 1000 };

  it('refuses claims beyond maxKeys rather than forget a key too early', async () => {
    let nowMs = 0;
    const store = memoryStore({ maxKeys: 2, clock: () => nowMs });
    await store.claim('n', [claim('a'), claim('b')], times);
    await expect(store.claim('n', [claim('c')], times)).rejects.toThrow(/maxKeys/);
    nowMs = 1000;
    const [answer] = await store.claim('n', [claim('c')], times);
    expect(answer?.state).toBe('leased');
  });
});
