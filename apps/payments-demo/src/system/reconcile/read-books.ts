import type { ConsumedRecord, PaymentsCluster } from '../cluster/payments-cluster.ts';
import { type Database, minorUnits } from '../database/database.ts';
import { paymentsTopic, tryPaymentId } from '../payment.ts';
import type { Books } from './reconciliation.ts';

/**
 * Reads the books while the system goes on. The order matters, so that nothing on its way looks like a difference: what comes later in
 * a payment's life is read first. What was committed by then has been applied, what was applied has been stored.
 */
export async function readBooks(database: Database, cluster: PaymentsCluster): Promise<Books> {
  const [pastLedger, pastNotifications] = await Promise.all([
    cluster.committedOffsets('ledger', paymentsTopic),
    cluster.committedOffsets('notifications', paymentsTopic),
  ]);
  const notifications = await countById(
    database,
    'SELECT payment_id, count(*)::int AS count FROM notifications GROUP BY payment_id',
  );
  const books = await database.transaction(async (sql) => {
    await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    const entries = await sql.query<{ payment_id: string; count: number; sum: string }>(
      'SELECT payment_id, count(*)::int AS count, sum(amount_minor)::text AS sum FROM entries GROUP BY payment_id',
    );
    const refusals = await sql.query<{ payment_id: string }>(
      'SELECT payment_id FROM refusals WHERE payment_id IS NOT NULL',
    );
    const sum = await sql.query<{ sum: string }>('SELECT coalesce(sum(amount_minor), 0)::text AS sum FROM entries');
    const wrong = await sql.query<{ account: string }>(
      `SELECT account FROM accounts LEFT JOIN (SELECT account, sum(amount_minor) AS sum FROM entries GROUP BY account) AS sums USING (account)
       WHERE balance_minor <> coalesce(sums.sum, 0) ORDER BY account`,
    );
    return {
      entries: new Map(
        entries.rows.map(({ payment_id, count, sum }) => [payment_id, { count, sumMinor: minorUnits(sum) }]),
      ),
      refused: new Set(refusals.rows.map(({ payment_id }) => payment_id)),
      ledgerSumMinor: minorUnits(sum.rows[0]!.sum),
      wrongBalances: wrong.rows.map(({ account }) => account),
    };
  });
  const requests = await database.query<{ key: string; payment_id: string; is_accepted: boolean }>(
    'SELECT idempotency_key AS key, payment_id, accepted_at IS NOT NULL AS is_accepted FROM payment_requests',
  );
  const records = await cluster.readAll(paymentsTopic);
  const isPast = (committed: ReadonlyMap<number, bigint>, { partition, offset }: ConsumedRecord): boolean =>
    offset < (committed.get(partition) ?? 0n);
  return {
    ...books,
    notifications,
    requests: requests.rows.map(({ key, payment_id, is_accepted }) => ({
      key,
      paymentId: payment_id,
      isAccepted: is_accepted,
    })),
    records: records.map((record) => ({
      paymentId: tryPaymentId(record.value),
      isPastLedger: isPast(pastLedger, record),
      isPastNotifications: isPast(pastNotifications, record),
    })),
    batchesRecognised: cluster.batchesRecognised(),
  };
}

async function countById(database: Database, sql: string): Promise<Map<string, number>> {
  const { rows } = await database.query<{ payment_id: string; count: number }>(sql);
  return new Map(rows.map(({ payment_id, count }) => [payment_id, count]));
}
