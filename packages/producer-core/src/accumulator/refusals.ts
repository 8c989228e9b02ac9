import { BufferFullError, DeliveryError, RecordTooLargeError } from '../errors.ts';
import type { TopicState } from './topic-state.ts';

/** The errors of records that never got into a batch: certainly not stored. */

export function noPartitionError(topic: TopicState, partition: number): DeliveryError {
  return new DeliveryError(
    `Topic ${topic.topic} has partitions 0 to ${topic.partitions.length - 1}, so there is no partition ${partition}. Nothing was sent.`,
    { code: 'UNKNOWN_PARTITION', fate: 'not-stored', attempts: 0, topic: topic.topic, partition },
  );
}

export function recordTooLargeError(
  { topic }: TopicState,
  partition: number,
  neededBytes: number,
  maxRequestSize: number,
): RecordTooLargeError {
  return new RecordTooLargeError(
    `The record takes ${neededBytes} bytes with its batch header, more than maxRequestSize (${maxRequestSize}). ` +
      'Send less, or raise maxRequestSize together with the topic’s max.message.bytes.',
    { fate: 'not-stored', attempts: 0, topic, partition },
  );
}

export function metadataTimeoutError(
  { topic, lastError }: TopicState,
  partition: number,
  maxBlockMs: number,
): DeliveryError {
  return new DeliveryError(
    `No metadata for topic ${topic} within maxBlockMs (${maxBlockMs} ms). Nothing was sent. ` +
      'Check that the brokers can be reached and that the topic exists.',
    {
      code: 'METADATA_TIMEOUT',
      retriable: true,
      fate: 'not-stored',
      attempts: 0,
      topic,
      partition,
      ...(lastError === null ? {} : { cause: lastError }),
    },
  );
}

export function bufferFullError(bufferMemory: number, detail: string): BufferFullError {
  return new BufferFullError(
    `bufferMemory (${bufferMemory} bytes) is full of records that are not acknowledged. ${detail} ` +
      'The record was not kept. Send more slowly, or raise bufferMemory.',
  );
}
