import { type Database, isForeignKeyViolation, minorUnits } from '../database/database.ts';
import type { Payment, PaymentOrder } from '../payment.ts';

/** A client's request, as it was first made under its key. */
export interface PaymentRequest {
  readonly key: string;
  readonly payment: Payment;
  /** The broker had acknowledged it, and the client may have been told. */
  readonly isAccepted: boolean;
}

export class UnknownAccountError extends Error {
  override readonly name = 'UnknownAccountError';
}

export type PaymentStatus = 'pending' | 'accepted' | 'applied' | 'refused';

interface Row {
  readonly idempotency_key: string;
  readonly payment_id: string;
  readonly from_account: string;
  readonly to_account: string;
  readonly amount_minor: string;
  readonly currency: 'EUR';
  readonly is_accepted: boolean;
}

const columns = `idempotency_key, payment_id, from_account, to_account, amount_minor::text AS amount_minor, currency, accepted_at IS NOT NULL AS is_accepted`;

/** The requests that clients made, by idempotency key. */
export class PaymentRequests {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Notes a request, under an id that it may keep, before anything is sent; or finds the one made earlier with this key.
   * @throws {UnknownAccountError}
   */
  async open(key: string, paymentId: string, order: PaymentOrder): Promise<PaymentRequest> {
    const { from, to, amountMinor, currency } = order;
    try {
      const { rows } = await this.#database.query<Row>(
        `INSERT INTO payment_requests (idempotency_key, payment_id, from_account, to_account, amount_minor, currency)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (idempotency_key) DO NOTHING RETURNING ${columns}`,
        [key, paymentId, from, to, amountMinor, currency],
      );
      if (rows[0] !== undefined) return requestOf(rows[0]);
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      throw new UnknownAccountError(`There is no account ${from}, or no account ${to}.`);
    }
    const found = await this.find(key);
    if (found === null) throw new Error(`The request with the key ${key} was removed while it was made.`);
    return found;
  }

  async find(key: string): Promise<PaymentRequest | null> {
    const { rows } = await this.#database.query<Row>(
      `SELECT ${columns} FROM payment_requests WHERE idempotency_key = $1`,
      [key],
    );
    return rows[0] === undefined ? null : requestOf(rows[0]);
  }

  async accept(key: string): Promise<void> {
    await this.#database.query(
      'UPDATE payment_requests SET accepted_at = now() WHERE idempotency_key = $1 AND accepted_at IS NULL',
      [key],
    );
  }

  async status(paymentId: string): Promise<{ readonly payment: Payment; readonly status: PaymentStatus } | null> {
    const { rows } = await this.#database.query<Row & { is_applied: boolean; is_refused: boolean }>(
      `SELECT ${columns},
         EXISTS (SELECT FROM entries WHERE payment_id = $1::uuid) AS is_applied,
         EXISTS (SELECT FROM refusals WHERE payment_id = $1::text) AS is_refused
       FROM payment_requests WHERE payment_id = $1::uuid`,
      [paymentId],
    );
    const [row] = rows;
    if (row === undefined) return null;
    const { payment, isAccepted } = requestOf(row);
    const known = row.is_applied ? 'applied' : row.is_refused ? 'refused' : null;
    return { payment, status: known ?? (isAccepted ? 'accepted' : 'pending') };
  }
}

function requestOf(row: Row): PaymentRequest {
  return {
    key: row.idempotency_key,
    payment: {
      paymentId: row.payment_id,
      from: row.from_account,
      to: row.to_account,
      amountMinor: minorUnits(row.amount_minor),
      currency: row.currency,
    },
    isAccepted: row.is_accepted,
  };
}
