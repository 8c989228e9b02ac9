import { readFileSync } from 'node:fs';
import { createSimulatedRuntime } from '@sendonce/producer-core/testing';
import { describe, expect, it } from 'vitest';
import { produceOne } from './batches.testkit.ts';
import { createMemoryCluster } from './cluster.ts';

function readVectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8')) as T;
}

type ScriptStep = [
  producerId: number,
  epoch: number,
  baseSequence: number,
  count: number,
  error: number,
  baseOffset: number,
];

describe('profile kafka-4 answers as a Kafka 4.1.0 broker did', () => {
  const { scripts } = readVectors<{ readonly scripts: readonly ScriptStep[][] }>('producer-state-kafka-4.1.json');

  it('there are 150 scripts of 32 batches', () => {
    expect(scripts.map((script) => script.length)).toEqual(new Array(150).fill(32));
  });

  it.each(scripts.map((script, index) => ({ script, index })))('M2: script $index', async ({ script }) => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    const cluster = createMemoryCluster({ runtime, profile: 'kafka-4', topics: { payments: {} } });
    const transport = cluster.transport();
    const answers: ScriptStep[] = [];
    for (const [producerId, epoch, baseSequence, count] of script) {
      const produced = produceOne(transport, { producerId, epoch, baseSequence, count });
      const { errorCode, baseOffset } = await runtime.runUntilSettled(produced);
      answers.push([producerId, epoch, baseSequence, count, errorCode, Number(baseOffset)]);
    }
    expect(answers).toEqual(script);
  });

  const { cases } = readVectors<{
    readonly cases: readonly {
      readonly name: string;
      readonly bytes: string;
      readonly error: number;
      readonly storedRecords: number;
    }[];
  }>('hostile-batches-kafka-4.1.json');

  it('there are 38 damaged batches', () => {
    expect(cases).toHaveLength(38);
  });

  it.each(cases)('M3: $name', async ({ bytes, error, storedRecords }) => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    const cluster = createMemoryCluster({ runtime, profile: 'kafka-4', topics: { payments: {} } });
    const partitions = [{ topic: 'payments', partition: 0, batch: Buffer.from(bytes, 'hex') }];
    const produced = cluster.transport().produce(1, { acks: 'all', timeoutMs: 1_000, partitions });
    const [result] = await runtime.runUntilSettled(produced);
    expect(result?.errorCode).toBe(error);
    expect(cluster.partition('payments', 0).logEndOffset).toBe(storedRecords);
  });

  interface RestartStep {
    readonly what: string;
    readonly producerId: number;
    readonly epoch: number;
    readonly baseSequence: number;
    readonly count: number;
    readonly error: number;
    readonly baseOffset: number;
    readonly logStartOffset: number;
  }
  const { steps } = readVectors<{ readonly steps: readonly RestartStep[] }>('restarts-kafka-4.1.json');

  it('M4, M5: after restarts, SIGKILL and the deletion of all records', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    // One partition for each producer, as when the broker was asked.
    const cluster = createMemoryCluster({ runtime, profile: 'kafka-4', topics: { payments: { partitions: 5 } } });
    const transport = cluster.transport();
    const broker = cluster.broker(1);
    const before: Readonly<Record<string, (partition: number) => void>> = {
      'after a clean restart': () => broker.restart(),
      'clean restart, records dated 2023': () => {},
      'after SIGKILL': () => {
        broker.kill();
        broker.restart();
      },
      'clean restart, then SIGKILL': () => {},
      'records deleted': (partition) => {
        const { highWatermark } = cluster.partition('payments', partition);
        cluster.partition('payments', partition).deleteRecordsBefore(highWatermark);
      },
    };
    let phase = '';
    const answers: RestartStep[] = [];
    for (const { what, producerId, epoch, baseSequence, count } of steps) {
      const partition = producerId - 500;
      const nextPhase = what.split(':')[0]!;
      if (nextPhase !== phase) before[nextPhase]?.(partition);
      phase = nextPhase;
      const timestampMs = producerId === 504 ? Date.UTC(2023, 10, 14) : runtime.wallClockMs();
      const produced = produceOne(transport, { partition, producerId, epoch, baseSequence, count, timestampMs });
      const { errorCode, baseOffset, logStartOffset } = await runtime.runUntilSettled(produced);
      answers.push({
        what,
        producerId,
        epoch,
        baseSequence,
        count,
        error: errorCode,
        baseOffset: Number(baseOffset),
        logStartOffset: Number(logStartOffset),
      });
    }
    expect(answers).toEqual(steps);
  });
});
