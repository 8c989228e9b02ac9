import { setTimeout as sleep } from 'node:timers/promises';
import { kafkaPaymentsCluster } from '../system/cluster/kafka-payments-cluster.ts';
import { openPostgres } from '../system/database/postgres.ts';
import { readBooks } from '../system/reconcile/read-books.ts';
import { type Reconciliation, reconcileBooks } from '../system/reconcile/reconciliation.ts';
import type { ClientPayment } from './clients.ts';
import type { Scene } from './scene.ts';

export interface ComparedBooks {
  readonly books: Reconciliation;
  /** Keys of payments whose clients were told that they are accepted, and that are not applied under the id they were told. */
  readonly acceptedNotApplied: readonly string[];
}

const settleTimeoutMs = 60_000;
const pollMs = 500;

/** Reconciles when everything in the log was read, and compares with what clients were told. */
export async function compareBooks(
  { kafka, postgres }: Scene,
  accepted: readonly ClientPayment[],
): Promise<ComparedBooks> {
  const database = openPostgres(postgres.url, () => {});
  const cluster = kafkaPaymentsCluster({ brokers: kafka.bootstrap });
  try {
    const books = await settled(async () => reconcileBooks(await readBooks(database, cluster)));
    const { rows } = await database.query<{ key: string; payment_id: string }>(
      `SELECT idempotency_key AS key, payment_id FROM payment_requests
       WHERE EXISTS (SELECT FROM entries WHERE entries.payment_id = payment_requests.payment_id)`,
    );
    const applied = new Map(rows.map(({ key, payment_id }) => [key, payment_id]));
    const isMissing = ({ key, paymentId }: ClientPayment): boolean => applied.get(key) !== paymentId;
    return { books, acceptedNotApplied: accepted.filter(isMissing).map(({ key }) => key) };
  } finally {
    await database.close();
  }
}

/** The books as they are in the end, or when that takes too long. */
async function settled(read: () => Promise<Reconciliation>): Promise<Reconciliation> {
  const deadlineMs = performance.now() + settleTimeoutMs;
  for (;;) {
    const books = await read();
    if (books.waitingForLedger + books.waitingForNotification === 0 || performance.now() > deadlineMs) return books;
    await sleep(pollMs);
  }
}
