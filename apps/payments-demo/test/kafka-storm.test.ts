import { expect, it } from 'vitest';
import { playKafkaStorm } from '../src/kafka/kafka-storm.ts';
import { Narration } from '../src/narration/narration.ts';
import type { ScriptItem } from '../src/narration/script.ts';

it('the storm on a real broker ends with every payment stored exactly once, in order', async () => {
  const script: ScriptItem[] = [];
  const narration = new Narration((item) => script.push(item));
  await playKafkaStorm(narration, {
    kafka: process.env.KAFKA_BROKERS?.split(',')[0] ?? 'start',
    seed: 2026,
    payments: 2_000,
    signal: new AbortController().signal,
  });
  const checks = script.filter((item) => item.type === 'check');
  expect(checks.map(({ claim }) => claim)).toHaveLength(3);
  expect(checks.filter(({ held }) => !held)).toEqual([]);
});

it('Ctrl-C in the middle of the storm ends it, and takes the broker down', async () => {
  const interruption = new AbortController();
  const narration = new Narration(() => interruption.abort(new Error('Ctrl-C')));
  const storm = playKafkaStorm(narration, {
    kafka: 'start',
    seed: 1,
    payments: 1_000_000,
    signal: interruption.signal,
  });
  await expect(storm).rejects.toThrow('Ctrl-C');
});
