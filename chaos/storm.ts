import { setTimeout as sleep } from 'node:timers/promises';
import type { ProducerHooks } from '@sendonce/producer-core';
import { type FaultRates, seededRandom, startKafkaBehindProxy } from '@sendonce/test-services';
import { type Audit, audit, type SentRecord } from './audit.ts';
import { clients } from './clients/index.ts';
import { troubleBrokers } from './trouble.ts';

export interface StormOptions {
  readonly client: string;
  readonly seed: number;
  readonly minutes: number;
  /** Records a second. */
  readonly rate: number;
  /** For sendonce's producer; other clients have none. */
  readonly hooks?: ProducerHooks;
}

export interface StormReport {
  readonly audit: Audit;
  /** From the end of the last fault until nothing was pending, or until we stopped waiting. */
  readonly recoveryMs: number;
  readonly faults: Readonly<Record<string, number>>;
}

const partitions = 6;
const topic = 'chaos';
const tickMs = 20;
const longestRecoveryMs = 60_000;
const maxDelayMs = 1_000;

/** Per request and per reply. */
const rates: FaultRates = {
  'lose-request': 0.002,
  'lose-reply': 0.004,
  'reset-in-request': 0.002,
  'reset-in-reply': 0.002,
  'reset-after-request': 0.003,
  'delay-request': 0.01,
  'delay-reply': 0.01,
  'trickle-reply': 0.01,
};

/** One run: brokers, storm, calm, audit. */
export async function runStorm({ client: name, seed, minutes, rate, hooks = {} }: StormOptions): Promise<StormReport> {
  const start = clients[name];
  if (!start) throw new Error(`There is no client ${name}; there are ${Object.keys(clients).join(', ')}.`);
  await using cluster = await startKafkaBehindProxy({
    brokers: 3,
    config: { 'min.insync.replicas': 2, 'broker.session.timeout.ms': 6_000 },
  });
  const { kafka, proxy } = cluster;
  await kafka.createTopic({ topic, partitions, replicationFactor: 3 });
  const client = await start({ bootstrap: cluster.bootstrap, topic, hooks });
  const sent: SentRecord[] = [];
  const pending = new Set<SentRecord>();
  const sendNext = () => {
    const record: SentRecord = {
      partition: sent.length % partitions,
      serial: Math.floor(sent.length / partitions),
      sentAtMs: performance.now(),
      outcome: 'pending',
    };
    sent.push(record);
    pending.add(record);
    const settle = (outcome: SentRecord['outcome'], error?: { fate?: string }) => {
      record.outcome = outcome;
      record.settledAtMs = performance.now();
      if (outcome === 'failed') record.fate = error?.fate ?? 'unknown';
      pending.delete(record);
    };
    client.send(record.partition, `${record.serial}`).then(
      () => settle('acknowledged'),
      (error) => settle('failed', error),
    );
  };
  const over = new AbortController();
  proxy.faults.storm(rates, { seed, maxDelayMs });
  const trouble = troubleBrokers(cluster, seededRandom(seed ^ 0x5eed), over.signal);
  const startedMs = performance.now();
  const total = Math.round(minutes * 60 * rate);
  while (sent.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startedMs) / 1000) * rate));
    while (sent.length < due) sendNext();
    await sleep(tickMs);
  }
  over.abort();
  const brokerTrouble = await trouble;
  proxy.faults.calm();
  const calmMs = performance.now();
  while (pending.size > 0 && performance.now() - calmMs < longestRecoveryMs) await sleep(tickMs);
  const recoveryMs = Math.round(performance.now() - calmMs);
  // What is still pending counts as pending, whatever closing does to it.
  const outcome = sent.map((record) => ({ ...record }));
  await client.close();
  const stored = (await kafka.readAll(topic)).map(({ partition, value }) => ({
    partition,
    serial: Number(String(value)),
  }));
  return {
    audit: audit(outcome, stored),
    recoveryMs,
    faults: Object.fromEntries([...brokerTrouble, ...proxy.faults.counts]),
  };
}
