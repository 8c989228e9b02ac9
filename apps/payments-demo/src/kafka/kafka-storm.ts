import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createProducer } from '@sendonce/producer-core';
import { createTopics, type FaultRates, readAllRecords, startKafka, withAdmin } from '@sendonce/test-services';
import { createKafkaTransport } from '@sendonce/transport-kafka';
import type { Narration } from '../narration/narration.ts';
import { sendPayments } from '../storm/send-payments.ts';
import { auditTable, brokenPromises, stormReport } from '../storm/storm-report.ts';
import { openLossyPath } from './lossy-path.ts';

export interface KafkaStormOptions {
  /** `HOST:PORT`, or `start` to have a broker started. */
  readonly kafka: string;
  /** What the faults are drawn from. */
  readonly seed: number;
  readonly payments: number;
  readonly signal: AbortSignal;
}

const partitions = 6;
const session = 'payment-service';
const faultRates: FaultRates = {
  'lose-reply': 0.05,
  'lose-request': 0.03,
  'reset-in-reply': 0.01,
  'reset-after-request': 0.02,
  'delay-reply': 0.05,
};
const maxDelayMs = 100;
const repliesLostAfter = [3, 12, 25];
/** Short: each lost reply costs the connection this long. */
const requestTimeoutMs = 500;
const paymentsPerPause = 5;
const pauseMs = 5;

/** The storm on a real broker: the same application code, another transport. */
export async function playKafkaStorm(narration: Narration, options: KafkaStormOptions): Promise<void> {
  const { kafka, seed, payments, signal } = options;
  await using own = kafka === 'start' ? await startBroker(narration) : null;
  const bootstrap = own?.bootstrap[0] ?? kafka;
  signal.throwIfAborted();
  await using path = await openLossyPath(bootstrap);
  const topic = `payments-demo-${randomBytes(4).toString('hex')}`;
  await createTopics([bootstrap], [{ topic, partitions }]);
  try {
    await using producer = await createProducer({
      transport: createKafkaTransport({ brokers: [bootstrap], clientId: session, socketFactory: path.socketFactory }),
      clientId: session,
      requestTimeoutMs,
    });
    narration.say(
      `${payments.toLocaleString('en-US')} payments go to topic ${topic} of the broker at ${bootstrap}, through a proxy that loses requests and replies and resets connections (seed ${seed}).`,
    );
    path.faults.storm(faultRates, { seed, maxDelayMs });
    // Whatever chance brings, these replies get lost.
    for (const skip of repliesLostAfter) path.faults.order('lose-reply', { skip });
    const sent = await sendPayments(
      { session, send: (record) => producer.send(record) },
      {
        topic,
        numbers: Array.from({ length: payments }, (_, number) => number),
        afterEach: async (count) => {
          signal.throwIfAborted();
          if (count % paymentsPerPause === 0) await sleep(pauseMs, undefined, { signal });
        },
      },
    );
    path.faults.calm();
    const counts = [...path.faults.counts].map(([kind, count]) => [kind, count] as const);
    narration.table({ title: 'What went wrong on the way', columns: ['fault', 'times'], rows: counts });
    narration.event('reading everything back with kafkajs’s consumer');
    const report = stormReport(
      new Map([[session, sent]]),
      (await readAllRecords([bootstrap], topic)).map(storedPayment),
    );
    narration.table(auditTable(report));
    const repliesLost = path.faults.counts.get('lose-reply') ?? 0;
    narration.check(
      'replies were lost, and their batches sent again',
      repliesLost > 0 && producer.stats().retries > 0,
      `${repliesLost} replies lost, ${producer.stats().retries} retries`,
    );
    const audit = report.sessions.get(session)!;
    narration.checkEqual('every payment was acknowledged', audit.acknowledged, payments);
    narration.checkEqual('every acknowledged payment is stored exactly once, in order', brokenPromises(report), []);
  } finally {
    await withAdmin([bootstrap], (admin) => admin.deleteTopics({ topics: [topic] }));
  }
}

async function startBroker(narration: Narration) {
  narration.event('starting a Kafka broker (the first time its jars are fetched with Maven)');
  return startKafka({ brokers: 1 });
}

function storedPayment({ partition, offset, value }: Awaited<ReturnType<typeof readAllRecords>>[number]) {
  const { paymentId } = JSON.parse(String(value)) as { paymentId: string };
  return { session, paymentId, partition, offset };
}
