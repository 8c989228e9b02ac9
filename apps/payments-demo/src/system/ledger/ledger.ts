import { type Database, minorUnits, type Sql } from '../database/database.ts';
import type { Payment } from '../payment.ts';

export interface Account {
  readonly account: string;
  readonly balanceMinor: number;
}

/** Why a payment was not applied; nothing of it was. */
export type Refusal = `unknown account ${string}`;

/**
 * Writes a payment's two entries and moves both balances, in the caller's transaction. Answers with the reason when it can't be
 * applied: then nothing is written.
 */
export async function applyPayment(sql: Sql, payment: Payment): Promise<Refusal | null> {
  const { paymentId, from, to, amountMinor } = payment;
  // Locked in the order of their names: two payments between the same accounts in opposite directions would otherwise wait for each other.
  const { rows: found } = await sql.query<{ account: string }>(
    'SELECT account FROM accounts WHERE account IN ($1, $2) ORDER BY account FOR UPDATE',
    [from, to],
  );
  const missing = [from, to].find((account) => !found.some((row) => row.account === account));
  if (missing !== undefined) return `unknown account ${missing}`;
  await sql.query(
    `INSERT INTO entries (payment_id, account, amount_minor) VALUES ($1, $2, -$4::bigint), ($1, $3, $4::bigint)`,
    [paymentId, from, to, amountMinor],
  );
  await sql.query(
    `UPDATE accounts SET balance_minor = balance_minor + CASE account WHEN $1 THEN -$3::bigint ELSE $3::bigint END WHERE account IN ($1, $2)`,
    [from, to, amountMinor],
  );
  return null;
}

/** Puts a record that can't be applied where a person finds it. Once, however often it is read. */
export async function refuse(
  sql: Sql,
  place: { readonly topic: string; readonly partition: number; readonly offset: bigint },
  paymentId: string | null,
  reason: string,
): Promise<void> {
  await sql.query(
    `INSERT INTO refusals (topic, partition, "offset", payment_id, reason) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    [place.topic, place.partition, String(place.offset), paymentId, reason],
  );
}

export async function listAccounts(database: Database): Promise<Account[]> {
  const { rows } = await database.query<{ account: string; balance: string }>(
    `SELECT account, balance_minor::text AS balance FROM accounts ORDER BY length(account), account`,
  );
  return rows.map(({ account, balance }) => ({ account, balanceMinor: minorUnits(balance) }));
}
