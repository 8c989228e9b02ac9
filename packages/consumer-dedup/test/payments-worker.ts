/**
 * A consumer process: is given records, applies each payment once in Postgres, and says which may be committed.
 *
 *   fork('test/payments-worker.ts', [POSTGRES_URL])
 */
import pg from 'pg';
import { type ConsumedMessage, committable, createDeduplicator } from '../src/index.ts';
import { postgresStore } from '../src/postgres/index.ts';

const pool = new pg.Pool({ connectionString: process.argv[2]!, max: 1 });
const dedup = createDeduplicator({ store: postgresStore({ pool }), namespace: 'ledger' });

process.on('message', async (messages: ConsumedMessage[]) => {
  const outcomes = await dedup.processBatch(messages, async (fresh, { client }) => {
    const payments = fresh.map(({ value }) => JSON.parse(Buffer.from(value as Uint8Array).toString()));
    await client.query('INSERT INTO applied (payment_id, amount) SELECT * FROM unnest($1::text[], $2::int[])', [
      payments.map(({ paymentId }) => paymentId),
      payments.map(({ amount }) => amount),
    ]);
  });
  for (const outcome of outcomes) committable(outcome);
  process.send!(messages.length);
});
