import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createProducer } from '@sendonce/producer-core';
import { startPostgres } from '@sendonce/test-services/databases';
import {
  type ConsumedRecord,
  createMemoryCluster,
  type MemoryCluster,
  type MemoryConsumer,
} from '@sendonce/transport-memory';
import pg from 'pg';
import { expect, it } from 'vitest';
import { postgresStore } from '../src/postgres/index.ts';

const PAYMENTS = 20_000;
/** The payment service is restarted this often; each time it resends what it does not know the fate of. */
const RESTARTS = 10;
const RESENT_PER_RESTART = PAYMENTS / 10 / RESTARTS;
const KILLS = 10;
const CONSUMERS = 2;
const BATCH = 100;
const TOPIC = 'payments';

it('R1-R8, D3: 20,000 payments, a tenth sent again by restarted producers, consumers killed ten times: each applied once', async () => {
  await using service = await startPostgres();
  const pool = new pg.Pool({ connectionString: service.url, max: 4 });
  await postgresStore({ pool }).ensureSchema();
  // No unique constraint: an effect that happened twice must show.
  await pool.query('CREATE TABLE applied (payment_id text NOT NULL, amount int NOT NULL)');
  const cluster = createMemoryCluster({ brokers: 3, topics: { [TOPIC]: { partitions: 3, replicationFactor: 3 } } });

  await sendPayments(cluster);
  const log = await readAll(cluster);
  expect(log.payments).toHaveLength(PAYMENTS + RESTARTS * RESENT_PER_RESTART);
  expect(new Set(log.payments).size).toBe(PAYMENTS);

  const kills = await consume(cluster, log, service.url);
  expect(kills).toBe(KILLS);

  const { rows } = await pool.query(
    'SELECT count(*)::int AS applied, count(DISTINCT payment_id)::int AS payments, sum(amount)::int AS total FROM applied',
  );
  expect(rows).toEqual([{ applied: PAYMENTS, payments: PAYMENTS, total: (PAYMENTS * (PAYMENTS - 1)) / 2 }]);
  await pool.end();
});

/** A restarted producer is a new one to the broker: what it sends again is stored again. */
async function sendPayments(cluster: MemoryCluster): Promise<void> {
  const perSession = PAYMENTS / RESTARTS;
  for (let session = 0; session < RESTARTS; session++) {
    const first = session * perSession;
    const numbers = Array.from({ length: perSession }, (_, index) => first + index);
    await sendSession(cluster, numbers);
    await sendSession(cluster, numbers.slice(-RESENT_PER_RESTART));
  }
}

async function sendSession(cluster: MemoryCluster, numbers: readonly number[]): Promise<void> {
  const producer = await createProducer({ transport: cluster.transport(), clientId: 'payments' });
  await producer.sendBatch(
    numbers.map((number) => ({
      topic: TOPIC,
      key: `account-${number % 500}`,
      value: JSON.stringify({ paymentId: `payment-${number}`, amount: number }),
      headers: { 'idempotency-key': `payment-${number}` },
    })),
  );
  await producer.close();
}

interface Log {
  /** The payment of every record. */
  readonly payments: readonly string[];
  /** Each partition's end. */
  readonly ends: ReadonlyMap<number, bigint>;
}

async function readAll(cluster: MemoryCluster): Promise<Log> {
  const expected = PAYMENTS + RESTARTS * RESENT_PER_RESTART;
  await using consumer = cluster.consumer({ groupId: 'audit', topics: [TOPIC] });
  const payments: string[] = [];
  const ends = new Map<number, bigint>();
  for await (const { value, partition, offset } of consumer) {
    payments.push(JSON.parse(value!.toString()).paymentId);
    ends.set(partition, offset + 1n);
    if (payments.length === expected) break;
  }
  return { payments, ends };
}

/** Consumers in processes of their own, killed with SIGKILL again and again. Returns the number of kills. */
async function consume(cluster: MemoryCluster, { payments, ends }: Log, url: string): Promise<number> {
  const records = payments.length;
  const committed = new Map<number, bigint>();
  const members = new Set<MemoryConsumer>();
  let kills = 0;
  const progress = () => [...committed.values()].reduce((sum, next) => sum + Number(next), 0);
  const killIsDue = () => kills < KILLS && progress() >= ((kills + 1) * records) / (KILLS + 2);

  /** One process, from its start until it is killed or everything is committed. */
  const live = async (): Promise<void> => {
    const consumer = cluster.consumer({ groupId: 'ledger', topics: [TOPIC] });
    members.add(consumer);
    const child = fork(join(import.meta.dirname, 'payments-worker.ts'), [url], {
      execArgv: ['--conditions=@sendonce/source'],
      serialization: 'advanced',
    });
    try {
      for await (const batch of batchesOf(consumer, ends)) {
        // A process that dies before it has read everything is told by its exit, not by an error without a listener.
        child.send(batch, () => {});
        if (killIsDue()) {
          // At another place in the work each time.
          setTimeout(() => child.kill('SIGKILL'), kills);
          kills++;
        }
        if (!(await acknowledged(child))) {
          consumer.crash();
          return;
        }
        // A rebalance may have taken a partition away: its new owner is given those records again.
        await consumer.commit().catch(() => undefined);
        const kept = new Set(consumer.assignment.map(({ partition }) => partition));
        for (const { partition, offset } of batch) if (kept.has(partition)) committed.set(partition, offset + 1n);
        if (progress() === records) for (const member of members) void member.close();
      }
    } finally {
      members.delete(consumer);
      child.kill('SIGKILL');
    }
  };

  const slot = async (): Promise<void> => {
    while (progress() < records) await live();
  };
  await Promise.all(Array.from({ length: CONSUMERS }, slot));
  return kills;
}

/** Whether the process has answered, rather than died. */
async function acknowledged(child: ChildProcess): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return false;
  const stop = new AbortController();
  try {
    return await Promise.race([
      once(child, 'message', { signal: stop.signal }).then(() => true),
      once(child, 'exit', { signal: stop.signal }).then(() => false),
    ]);
  } finally {
    stop.abort();
  }
}

/**
 * Batches of records, none of which is left behind in a partition. The next record is only asked for when the batch is
 * dealt with: the consumer commits everything that it has handed out.
 */
async function* batchesOf(
  consumer: MemoryConsumer,
  ends: ReadonlyMap<number, bigint>,
): AsyncGenerator<ConsumedRecord[]> {
  let batch: ConsumedRecord[] = [];
  for await (const record of consumer) {
    batch.push(record);
    if (batch.length < BATCH && record.offset + 1n < ends.get(record.partition)!) continue;
    yield batch;
    batch = [];
  }
}
