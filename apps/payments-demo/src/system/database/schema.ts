import type { Database } from './database.ts';

export const accountsCount = 100;

/**
 * - `payment_requests`: what clients asked for, by their key, and what they were told. `accepted_at` is set after the broker's acknowledgement.
 * - `entries`: two for each payment, whose sum is zero. No unique constraint keeps a payment from being applied twice: that is the business
 *   key's task, and a failure of it must show in the reconciliation instead of being hidden here.
 * - `refusals`: records that the ledger could not apply, by their place in the log.
 * - `notifications`: stands for the mail provider's own list of what it sent. A real one can't join our transaction, so nothing here does.
 */
const tables = `
CREATE TABLE IF NOT EXISTS accounts (
  account text PRIMARY KEY,
  balance_minor bigint NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS payment_requests (
  idempotency_key text PRIMARY KEY,
  payment_id uuid NOT NULL UNIQUE,
  from_account text NOT NULL REFERENCES accounts,
  to_account text NOT NULL REFERENCES accounts,
  amount_minor bigint NOT NULL CHECK (amount_minor > 0),
  currency text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  accepted_at timestamptz
);

CREATE TABLE IF NOT EXISTS entries (
  entry_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  payment_id uuid NOT NULL,
  account text NOT NULL REFERENCES accounts,
  amount_minor bigint NOT NULL CHECK (amount_minor <> 0),
  posted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS entries_by_payment ON entries (payment_id);

CREATE TABLE IF NOT EXISTS refusals (
  topic text NOT NULL,
  partition integer NOT NULL,
  "offset" bigint NOT NULL,
  payment_id text,
  reason text NOT NULL,
  refused_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (topic, partition, "offset")
);

CREATE TABLE IF NOT EXISTS notifications (
  payment_id uuid NOT NULL,
  sent_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO accounts (account)
SELECT 'account-' || number FROM generate_series(0, ${accountsCount - 1}) AS number
ON CONFLICT DO NOTHING;
`;

/** Two services that start at the same time would otherwise create the same table at the same time, which Postgres refuses. */
const schemaLock = 7_065_621;

/** Creates what is not there yet. */
export async function ensureSchema(database: Database): Promise<void> {
  await database.exec(`BEGIN; SELECT pg_advisory_xact_lock(${schemaLock}); ${tables} COMMIT;`);
  await database.keys.ensureSchema();
}
