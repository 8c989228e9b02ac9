import type { RecordMetadata } from './record.ts';
import { protocolErrorName } from './transport/protocol-errors.ts';

/** What is known about a batch: `unknown` means an attempt left and no reply settles it. */
export type Fate = 'stored' | 'not-stored' | 'unknown';

export interface SendonceErrorOptions extends ErrorOptions {
  readonly code: string;
  /** Whether doing the same again later may succeed. Never a promise that it can't create a duplicate: see `fate`. */
  readonly retriable?: boolean;
}

/** Every error this SDK throws or rejects with. Match on `code`; messages may change. */
export class SendonceError extends Error {
  override readonly name: string = 'SendonceError';
  readonly code: string;
  readonly retriable: boolean;

  constructor(message: string, { code, retriable = false, ...options }: SendonceErrorOptions) {
    super(message, options);
    this.code = code;
    this.retriable = retriable;
  }
}

/** An option or an argument is wrong; the message names it and says what to write instead. */
export class ConfigError extends SendonceError {
  override readonly name = 'ConfigError';
  /** The options or arguments in question. */
  readonly fields: readonly string[];

  constructor(message: string, fields: readonly string[], options: ErrorOptions = {}) {
    super(message, { code: 'CONFIG', ...options });
    this.fields = fields;
  }
}

export interface DeliveryErrorOptions extends ErrorOptions {
  readonly code?: string;
  readonly retriable?: boolean;
  /** `stored` never rejects, so a rejected record is one of the other two. */
  readonly fate: Exclude<Fate, 'stored'>;
  /** Produce requests that carried the record. */
  readonly attempts: number;
  readonly topic: string;
  /** -1 when no partition was chosen yet. */
  readonly partition: number;
}

/** A record was not acknowledged. `fate` says whether it is certainly not stored, or unknown. */
export class DeliveryError extends SendonceError {
  override readonly name: string = 'DeliveryError';
  readonly fate: Exclude<Fate, 'stored'>;
  readonly attempts: number;
  readonly topic: string;
  readonly partition: number;

  constructor(message: string, { code = 'DELIVERY', fate, attempts, topic, partition, ...rest }: DeliveryErrorOptions) {
    super(message, { code, ...rest });
    this.fate = fate;
    this.attempts = attempts;
    this.topic = topic;
    this.partition = partition;
  }
}

/** `deliveryTimeoutMs` passed first (rule C8). */
export class DeliveryTimeoutError extends DeliveryError {
  override readonly name = 'DeliveryTimeoutError';
  constructor(message: string, options: DeliveryErrorOptions) {
    super(message, { code: 'DELIVERY_TIMEOUT', retriable: true, ...options });
  }
}

/** The record exceeds `maxRequestSize`, or the broker refused it as too large and it can't be split further. */
export class RecordTooLargeError extends DeliveryError {
  override readonly name = 'RecordTooLargeError';
  constructor(message: string, options: DeliveryErrorOptions) {
    super(message, { code: 'RECORD_TOO_LARGE', ...options });
  }
}

/** Another producer took over this producer's id and epoch; this one has stopped for good. */
export class ProducerFencedError extends DeliveryError {
  override readonly name = 'ProducerFencedError';
  constructor(message: string, options: DeliveryErrorOptions) {
    super(message, { code: 'PRODUCER_FENCED', ...options });
  }
}

/** The cluster does not allow this client to write: to the topic, or idempotently. */
export class AuthorizationError extends DeliveryError {
  override readonly name = 'AuthorizationError';
  constructor(message: string, options: DeliveryErrorOptions) {
    super(message, { code: 'AUTHORIZATION', ...options });
  }
}

/** What became of one record of a `sendBatch`. */
export type SendBatchResult =
  | { readonly metadata: RecordMetadata; readonly error: null }
  | { readonly metadata: null; readonly error: Error };

/** At least one record of a `sendBatch` failed; `cause` is the first failure. */
export class SendBatchError extends SendonceError {
  override readonly name = 'SendBatchError';
  /** One for each record, in the order of the call. */
  readonly results: readonly SendBatchResult[];

  constructor(message: string, results: readonly SendBatchResult[], options: ErrorOptions = {}) {
    super(message, { code: 'SEND_BATCH', ...options });
    this.results = results;
  }
}

/** `bufferMemory` stayed full for `maxBlockMs` (rule C14). Nothing of the record was kept. */
export class BufferFullError extends SendonceError {
  override readonly name = 'BufferFullError';
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: 'BUFFER_FULL', retriable: true, ...options });
  }
}

/** The producer is closing or closed, or stopped by a fatal error (then `cause` is that error). */
export class ProducerClosedError extends SendonceError {
  override readonly name = 'ProducerClosedError';
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { code: 'PRODUCER_CLOSED', ...options });
  }
}

export interface TransportErrorOptions extends ErrorOptions {
  /** `no` only when no byte of the request left (T2). */
  readonly sent: 'no' | 'maybe';
  readonly code?: string;
  readonly retriable?: boolean;
}

/** A request got no answer: connection refused, lost, timed out, or the reply made no sense. */
export class TransportError extends SendonceError {
  override readonly name: string = 'TransportError';
  readonly sent: 'no' | 'maybe';

  constructor(message: string, { sent, code = 'TRANSPORT', retriable = true, ...options }: TransportErrorOptions) {
    super(message, { code, retriable, ...options });
    this.sent = sent;
  }
}

export interface ProtocolErrorOptions extends ErrorOptions {
  readonly retriable?: boolean;
}

/** The broker answered with an error code. */
export class ProtocolError extends SendonceError {
  override readonly name = 'ProtocolError';
  readonly errorCode: number;
  readonly errorName: string;

  constructor(message: string, errorCode: number, options: ProtocolErrorOptions = {}) {
    super(message, { code: 'PROTOCOL', ...options });
    this.errorCode = errorCode;
    this.errorName = protocolErrorName(errorCode);
  }
}
