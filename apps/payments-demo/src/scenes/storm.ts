import { createDeduplicator, memoryStore } from '@sendonce/consumer-dedup';
import { createProducer, type Producer } from '@sendonce/producer-core';
import { type ConsumedRecord, createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import type { SentPayment } from '../audit/audit.ts';
import { sendPayments } from '../storm/send-payments.ts';
import { auditTable, brokenPromises, type StoredInSession, stormReport } from '../storm/storm-report.ts';
import { paymentIdOf, topic } from './payments.ts';
import type { Scene, Stage } from './stage.ts';

const paymentCount = 4_000;
const partitions = 6;
const brokers = [1, 2, 3];
const paymentEveryMs = 10;
const outageEveryMs = 4_000;
const outageMs = 1_500;
/** Payments that the service had not noted as done when it went down, and so sends again. */
const resent = 25;

export const storm: Scene = {
  title: 'The storm, and the audit',
  async play(stage) {
    stage.say(
      `${paymentCount.toLocaleString('en-US')} payments, ${partitions} partitions, three brokers of today’s kind. Requests and replies get lost, delayed, doubled; connections are reset; ` +
        `every four seconds a broker dies or freezes (seed ${stage.seed}). In the middle the service itself restarts, and sends its last ${resent} payments again.`,
    );
    const cluster = createMemoryCluster({
      runtime: stage.runtime,
      brokers: brokers.length,
      profile: 'kafka-4',
      topics: { [topic]: { partitions, replicationFactor: 3, minInsyncReplicas: 2 } },
      latencyMs: { minMs: 1, maxMs: 4 },
    });
    cluster.faults.rates({ loseRequest: 0.01, loseReply: 0.02, delayReply: 0.02, duplicate: 0.01, resetAfter: 0.01 });
    const weather = startOutages(stage, cluster);

    const half = paymentCount / 2;
    const sent = new Map<string, SentPayment[]>();
    sent.set('first run', await runService(stage, cluster, 'first run', 0, half));
    sent.set('after restart', await runService(stage, cluster, 'after restart', half - resent, paymentCount));
    weather.stop();
    cluster.faults.clear();

    stage.table({ title: 'What went wrong on the way', columns: ['what', 'times'], rows: troubles(cluster) });
    stage.event('reading everything back with a consumer');
    const records = await readBack(cluster);
    const report = stormReport(sent, records.map(storedInSession));
    stage.table(auditTable(report));

    const recognised = cluster.eventCounts['batch-recognised'] ?? 0;
    stage.check('brokers recognised repeats', recognised > 0, 'there was no repeat, so nothing was tried');
    const acknowledged = [...report.sessions.values()].reduce((sum, audit) => sum + audit.acknowledged, 0);
    stage.checkEqual('every payment was acknowledged', acknowledged, paymentCount + resent);
    stage.checkEqual('every acknowledged payment is stored exactly once, in order', brokenPromises(report), []);

    stage.checkEqual(
      `what is left: ${resent} payments are in the log twice, since the service sent them in two runs`,
      report.repeatedAcrossSessions,
      resent,
    );
    stage.say(
      'No broker can tell these, but their key can: each payment carries its id in the header “idempotency-key”. ' +
        'Here a ledger with @sendonce/consumer-dedup takes over.',
    );
    stage.event('the ledger reads the same log');
    const ledger = await applyOnce(stage, records);
    stage.checkEqual('the ledger applied every payment once', ledger.applied, paymentCount);
    stage.checkEqual('and recognised each that came again', ledger.recognised, resent);
  },
};

/** One run of the service: start, send payments `from` to `to`, stop in an orderly way. */
async function runService(
  stage: Stage,
  cluster: MemoryCluster,
  session: string,
  from: number,
  to: number,
): Promise<SentPayment[]> {
  const producer: Producer = await createProducer({
    transport: cluster.transport(),
    runtime: stage.runtime,
    clientId: 'payment-service',
    requestTimeoutMs: 1_000,
    hooks: stage.hooks.producer,
  });
  const payments = await sendPayments(
    { session, send: (record) => producer.send(record) },
    {
      topic,
      numbers: Array.from({ length: to - from }, (_, index) => from + index),
      afterEach: () => stage.wait(paymentEveryMs),
    },
  );
  await producer.close();
  return payments;
}

/** Kills or freezes a broker now and then, and brings it back; never two at a time. */
function startOutages(stage: Stage, cluster: MemoryCluster): { stop: () => void } {
  const { runtime } = stage;
  let stopped = false;
  const next = (): void => {
    if (stopped) return;
    const broker = cluster.broker(brokers[Math.floor(runtime.random() * brokers.length)]!);
    const dies = runtime.random() < 0.5;
    if (dies) broker.kill();
    else broker.pause();
    runtime.schedule(outageMs, () => (dies ? broker.restart() : broker.resume()));
    runtime.schedule(outageEveryMs, next);
  };
  runtime.schedule(outageEveryMs, next);
  return {
    stop: () => {
      stopped = true;
    },
  };
}

function troubles(cluster: MemoryCluster): [string, number][] {
  const { eventCounts } = cluster;
  const count = (type: keyof typeof eventCounts) => eventCounts[type] ?? 0;
  return [
    ['requests lost', count('request-lost')],
    ['replies lost', count('reply-lost')],
    ['replies delayed', count('reply-delayed')],
    ['requests doubled by the network', count('request-duplicated')],
    ['connections reset', count('connection-reset')],
    ['brokers killed', count('broker-killed')],
    ['brokers frozen', count('broker-paused')],
    ['leaders elected', count('leader-elected')],
    ['repeats that a broker recognised', count('batch-recognised')],
    ['batches that a broker refused', count('batch-refused')],
  ];
}

async function readBack(cluster: MemoryCluster): Promise<ConsumedRecord[]> {
  let left = 0;
  for (let partition = 0; partition < partitions; partition += 1)
    left += cluster.partition(topic, partition).highWatermark;
  await using consumer = cluster.consumer({ groupId: 'audit', topics: [topic] });
  const records: ConsumedRecord[] = [];
  for await (const record of consumer) {
    records.push(record);
    left -= 1;
    if (left === 0) break;
  }
  return records;
}

function storedInSession({ partition, offset, value, headers }: ConsumedRecord): StoredInSession {
  const session = headers.find(([name]) => name === 'session')?.[1];
  return {
    session: Buffer.from(session ?? []).toString('utf8'),
    paymentId: paymentIdOf(value!),
    partition,
    offset: BigInt(offset),
  };
}

/** Applies each payment whose key is new. */
async function applyOnce(
  stage: Stage,
  records: readonly ConsumedRecord[],
): Promise<{ applied: number; recognised: number }> {
  await using ledger = createDeduplicator({ store: memoryStore(), namespace: 'ledger', hooks: stage.hooks.dedup });
  let applied = 0;
  let recognised = 0;
  for (const record of records) {
    const { status } = await ledger.process(record, () => {
      applied += 1;
    });
    if (status === 'duplicate') recognised += 1;
  }
  return { applied, recognised };
}
