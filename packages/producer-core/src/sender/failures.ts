import type { ProducerBatch } from '../accumulator/batch.ts';
import {
  AuthorizationError,
  DeliveryError,
  type DeliveryErrorOptions,
  DeliveryTimeoutError,
  ProducerFencedError,
  RecordTooLargeError,
  SendonceError,
  type TransportError,
} from '../errors.ts';
import type { PartitionResult } from '../transport/transport.ts';
import { describeAnswer, replyRow } from './reply-table.ts';

/** The errors a batch fails with: what happened, what is known of its fate, what to do. */

function placeOf({ queue }: ProducerBatch): string {
  return `${queue.topic.topic}-${queue.partition}`;
}

function detailsOf(batch: ProducerBatch, cause: Error | null = batch.lastError): DeliveryErrorOptions {
  const { fate } = batch;
  return {
    fate: fate === 'not-stored' ? 'not-stored' : 'unknown',
    attempts: batch.attempts + (batch.attempt === null ? 0 : 1),
    topic: batch.queue.topic.topic,
    partition: batch.queue.partition,
    ...(cause === null ? {} : { cause }),
  };
}

function fateInWords({ fate }: DeliveryErrorOptions): string {
  return fate === 'not-stored'
    ? 'It is certainly not stored; sending it again is safe.'
    : 'It may be stored or not; before sending it again, look, or let the consumer deduplicate by a business key.';
}

export function deliveryTimeoutError(batch: ProducerBatch, deliveryTimeoutMs: number): DeliveryTimeoutError {
  const details = detailsOf(batch);
  const last = batch.lastError === null ? '' : ` Last problem: ${batch.lastError.message}`;
  return new DeliveryTimeoutError(
    `Not acknowledged by ${placeOf(batch)} within deliveryTimeoutMs (${deliveryTimeoutMs} ms), after ${details.attempts} attempts. ${fateInWords(details)}${last}`,
    details,
  );
}

export function refusedError(batch: ProducerBatch, result: PartitionResult): DeliveryError {
  const details = detailsOf(batch, null);
  const { action } = replyRow(result.errorCode);
  const advice = action === 'unknown-topic' ? ' Create the topic, or correct its name.' : '';
  return new DeliveryError(
    `The broker answered ${describeAnswer(result.errorCode, result.errorMessage)} for ${placeOf(batch)}. ${fateInWords(details)}${advice}`,
    { ...details, code: action === 'unknown-topic' ? 'UNKNOWN_TOPIC' : 'REFUSED' },
  );
}

export function tooLargeError(batch: ProducerBatch, result: PartitionResult): RecordTooLargeError {
  const details = detailsOf(batch, null);
  return new RecordTooLargeError(
    `The broker refused ${batch.recordCount === 1 ? 'a record' : 'a batch'} of ${batch.bytes.length} bytes for ${placeOf(batch)}: ` +
      `${describeAnswer(result.errorCode, result.errorMessage)}. ${fateInWords(details)} Send less, or raise the topic's max.message.bytes.`,
    details,
  );
}

export function authorizationError(batch: ProducerBatch, result: PartitionResult): AuthorizationError {
  const details = detailsOf(batch, null);
  return new AuthorizationError(
    `This client may not write to ${placeOf(batch)}: ${describeAnswer(result.errorCode, result.errorMessage)}. ` +
      `${fateInWords(details)} Grant it WRITE on the topic.`,
    details,
  );
}

export function fencedError(batch: ProducerBatch, result: PartitionResult): ProducerFencedError {
  return new ProducerFencedError(
    `Another producer has taken over producer id ${batch.producerId}: the broker no longer takes epoch ${batch.epoch}. This producer has stopped.`,
    {
      fate: batch.fate === 'not-stored' ? 'not-stored' : 'unknown',
      attempts: batch.attempts,
      topic: batch.queue.topic.topic,
      partition: batch.queue.partition,
      cause: refusedError(batch, result),
    },
  );
}

export function lostError(batch: ProducerBatch, error: TransportError): DeliveryError {
  const details = detailsOf(batch, error);
  return new DeliveryError(`${placeOf(batch)} can't be written to: ${error.message} ${fateInWords(details)}`, {
    ...details,
    code: error.code,
  });
}

export function closedError(batch: ProducerBatch): DeliveryError {
  const details = detailsOf(batch);
  return new DeliveryError(`The producer was closed before ${placeOf(batch)} acknowledged. ${fateInWords(details)}`, {
    ...details,
    code: 'PRODUCER_CLOSED',
  });
}

export function internalError(cause: unknown): SendonceError {
  return new SendonceError(
    'The producer found a state that should be impossible, and stopped. Please report it with the cause below.',
    { code: 'INTERNAL', cause },
  );
}
