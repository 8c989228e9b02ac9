import { setTimeout as sleep } from 'node:timers/promises';
import type { ProducerHooks } from '@sendonce/producer-core';
import {
  type FaultRates,
  type KafkaBehindProxy,
  type StoredRecord,
  seededRandom,
  startKafkaBehindProxy,
} from '@sendonce/test-services';
import { type Audit, audit, type SentRecord } from './audit.ts';
import { clients } from './clients/index.ts';
import { joinHooks, type Trace } from './trace.ts';
import { troubleBrokers } from './trouble.ts';

export interface StormOptions {
  readonly client: string;
  readonly seed: number;
  readonly minutes: number;
  /** Records a second. */
  readonly rate: number;
  /** Default: what the client comes with. */
  readonly requestTimeoutMs?: number | undefined;
  /** For telemetry; only for sendonce. */
  readonly hooks?: ProducerHooks | undefined;
  readonly trace?: Trace | undefined;
}

export interface StormReport {
  readonly audit: Audit;
  /** Records acknowledged before the last fault ended, a second. */
  readonly acknowledgedPerSecond: number;
  /** From the end of the last fault until nothing was pending, or until we stopped waiting. */
  readonly recoveryMs: number;
  readonly faults: Readonly<Record<string, number>>;
}

const partitions = 6;
const replicationFactor = 3;
const tickMs = 20;
const longestRecoveryMs = 60_000;
const longestTopicMs = 60_000;
const longestReadingMs = 60_000;
const readingPauseMs = 500;
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

/** Three brokers behind a proxy: for one storm or for several, one after the other. */
export function startStormCluster(): Promise<KafkaBehindProxy> {
  return startKafkaBehindProxy({
    brokers: 3,
    config: { 'min.insync.replicas': 2, 'broker.session.timeout.ms': 6_000 },
  });
}

/** After a storm a broker may still be on its way back, and then there are not enough for the replicas. */
async function createTopic({ kafka }: KafkaBehindProxy, topic: string): Promise<void> {
  const deadlineMs = performance.now() + longestTopicMs;
  for (;;) {
    try {
      await kafka.createTopic({ topic, partitions, replicationFactor });
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await sleep(500);
    }
  }
}

/**
 * Reads the topic until two readings in a row agree: just after a storm leaders still move, and a new one shows less than it has
 * until its followers confirm it.
 */
async function readBack({ kafka }: KafkaBehindProxy, topic: string): Promise<StoredRecord[]> {
  const deadlineMs = performance.now() + longestReadingMs;
  let before: StoredRecord[] | undefined;
  for (;;) {
    try {
      const now = await kafka.readAll(topic);
      if (now.length === before?.length) return now;
      before = now;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      before = undefined;
    }
    await sleep(readingPauseMs);
  }
}

/** What was sent, and what the client said about it. */
class Ledger {
  readonly sent: SentRecord[] = [];
  readonly pending = new Set<SentRecord>();

  next(): SentRecord {
    const record: SentRecord = {
      partition: this.sent.length % partitions,
      serial: Math.floor(this.sent.length / partitions),
      sentAtMs: performance.now(),
      outcome: 'pending',
    };
    this.sent.push(record);
    this.pending.add(record);
    return record;
  }

  settle(record: SentRecord, outcome: 'acknowledged' | 'failed', fate = 'unknown'): void {
    record.outcome = outcome;
    record.settledAtMs = performance.now();
    if (outcome === 'failed') record.fate = fate;
    this.pending.delete(record);
  }
}

/** One run: a topic of its own, storm, calm, audit. When it ends every broker is running. */
export async function runStorm(cluster: KafkaBehindProxy, options: StormOptions): Promise<StormReport> {
  const { client: name, seed, minutes, rate, requestTimeoutMs, hooks, trace } = options;
  const start = clients[name];
  if (!start) throw new Error(`There is no client ${name}; there are ${Object.keys(clients).join(', ')}.`);
  const { proxy } = cluster;
  const topic = `chaos-${name}-${seed}-${Date.now()}`;
  await createTopic(cluster, topic);
  const client = await start({
    bootstrap: cluster.bootstrap,
    topic,
    requestTimeoutMs,
    hooks: joinHooks(hooks, trace?.hooks),
  });
  const ledger = new Ledger();
  const { sent, pending } = ledger;
  const sendNext = () => {
    const record = ledger.next();
    client.send(record.partition, `${record.serial}`).then(
      () => ledger.settle(record, 'acknowledged'),
      (error: { fate?: string }) => ledger.settle(record, 'failed', error.fate),
    );
  };
  const faultsBefore = new Map<string, number>(proxy.faults.counts);
  const over = new AbortController();
  const note = (text: string) => trace?.note(text);
  proxy.faults.onFault = (kind, brokerId, apiKey) => note(`${kind} at broker ${brokerId}, request kind ${apiKey}`);
  proxy.faults.storm(rates, { seed, maxDelayMs });
  const trouble = troubleBrokers(cluster, seededRandom(seed ^ 0x5eed), over.signal, note);
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
  note('calm');
  const calmMs = performance.now();
  const acknowledgedInStorm = sent.filter(({ outcome }) => outcome === 'acknowledged').length;
  while (pending.size > 0 && performance.now() - calmMs < longestRecoveryMs) await sleep(tickMs);
  const recoveryMs = Math.round(performance.now() - calmMs);
  // What is still pending counts as pending, whatever closing does to it.
  const outcome = sent.map((record) => ({ ...record }));
  await client.close();
  const stored = (await readBack(cluster, topic)).map(({ partition, value }) => ({
    partition,
    serial: Number(String(value)),
  }));
  const onTheWay = [...proxy.faults.counts].map(
    ([kind, count]) => [kind, count - (faultsBefore.get(kind) ?? 0)] as const,
  );
  return {
    audit: audit(outcome, stored),
    acknowledgedPerSecond: Math.round(acknowledgedInStorm / ((calmMs - startedMs) / 1000)),
    recoveryMs,
    faults: Object.fromEntries([...brokerTrouble, ...onTheWay]),
  };
}
