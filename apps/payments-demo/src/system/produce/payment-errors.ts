/** Why a payment gets no acceptance. `statusCode` is what HTTP answers with. */
export abstract class PaymentError extends Error {
  abstract readonly code: string;
  abstract readonly statusCode: number;
  /** Whether the same request, with the same key, may succeed later. */
  readonly retriable: boolean = false;
}

export class SameAccountError extends PaymentError {
  override readonly name = 'SameAccountError';
  readonly code = 'INVALID_REQUEST';
  readonly statusCode = 400;
  constructor() {
    super('A payment goes from one account to another.');
  }
}

/** The key was used before, for another payment. */
export class KeyReusedError extends PaymentError {
  override readonly name = 'KeyReusedError';
  readonly code = 'IDEMPOTENCY_KEY_REUSED';
  readonly statusCode = 409;
  constructor() {
    super('This Idempotency-Key was used for another payment. Use a new key for a new payment.');
  }
}

export class AccountUnknownError extends PaymentError {
  override readonly name = 'AccountUnknownError';
  readonly code = 'ACCOUNT_UNKNOWN';
  readonly statusCode = 422;
}

/** Kafka did not acknowledge the payment in time, or the database did not answer. It may be stored or not: the same key finds out. */
export class UnavailableError extends PaymentError {
  override readonly name = 'UnavailableError';
  readonly statusCode = 503;
  override readonly retriable = true;
  readonly code: 'KAFKA_UNAVAILABLE' | 'DATABASE_UNAVAILABLE';
  constructor(code: UnavailableError['code'], cause: unknown) {
    super(
      'The payment is not accepted yet, and it is not known whether it will be. Send it again with the same Idempotency-Key.',
      { cause },
    );
    this.code = code;
  }
}
