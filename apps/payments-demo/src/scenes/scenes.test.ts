import type { ProducerOptions } from '@sendonce/producer-core';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { scenes } from './index.ts';
import { playScene } from './stage.ts';
import { storm } from './storm.ts';

type Sabotage = (options: ProducerOptions) => ProducerOptions;

const saboteur = vi.hoisted(() => ({ change: (options: ProducerOptions) => options }));

vi.mock('@sendonce/producer-core', async (importOriginal) => {
  const original = await importOriginal<typeof import('@sendonce/producer-core')>();
  return {
    ...original,
    createProducer: (options: ProducerOptions) => original.createProducer(saboteur.change(options)),
  };
});

afterEach(() => {
  saboteur.change = (options) => options;
});

async function failedChecks(index: number, seed: number): Promise<string[]> {
  const script = await playScene(scenes[index]!, seed);
  expect(script.some(({ type }) => type === 'check')).toBe(true);
  return script.flatMap((item) => (item.type === 'check' && !item.held ? [`${item.claim}: ${item.detail}`] : []));
}

const silent = { info: () => {}, warn: () => {} };
const withoutIdempotence: Sabotage = (options) => ({ logger: silent, ...options, idempotence: false });
const settingsIgnored: Sabotage = ({ transport, runtime }) => ({ transport, runtime: runtime! });

const withNewKeys: Sabotage = ({ hooks = {}, ...options }) => ({
  ...options,
  hooks: { ...hooks, onRecord: () => ({ headers: { 'idempotency-key': crypto.randomUUID() } }) },
});

/** For each scene, a producer that breaks what the scene shows. */
const sabotages: readonly [what: string, sabotage: Sabotage][] = [
  ['a producer that is idempotent although told not to be', (options) => ({ ...options, idempotence: true })],
  ['a producer without numbers', withoutIdempotence],
  ['a producer without numbers', withoutIdempotence],
  [
    'a producer that takes six for five',
    (options) => ({ ...options, maxInFlight: Math.min(5, options.maxInFlight ?? 5) }),
  ],
  ['a producer that ignores its settings', settingsIgnored],
  ['a producer without numbers', withoutIdempotence],
  ['a producer without numbers', withoutIdempotence],
  ['producers without numbers', withoutIdempotence],
  ['a producer without numbers', withoutIdempotence],
  ['an application that gives a payment another key when it sends it again', withNewKeys],
];

describe.each(scenes.map(({ title }, index) => ({ title, index })))('scene $index, $title', ({ index }) => {
  it('holds what it claims, whatever the seed', async () => {
    // What happens in real time depends on no seed.
    const seeds = scenes[index]!.inRealTime ? [2026] : [1, 2026, Number.MAX_SAFE_INTEGER];
    for (const seed of seeds) expect(await failedChecks(index, seed)).toEqual([]);
  });

  const [what, sabotage] = sabotages[index]!;
  it(`fails with ${what}`, async () => {
    saboteur.change = sabotage;
    expect(await failedChecks(index, 2026)).not.toEqual([]);
  });
});

it('the same seed shows the same, to the last offset', async () => {
  expect(await playScene(storm, 5)).toEqual(await playScene(storm, 5));
  expect(await playScene(storm, 5)).not.toEqual(await playScene(storm, 6));
});
