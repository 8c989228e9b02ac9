/** What applications use. */

export type { OnSettled } from './accumulator/settler.ts';
export type { CloseOptions, CreateProducerOptions, SendOptions } from './call-options.ts';
export {
  AuthorizationError,
  BufferFullError,
  ConfigError,
  DeliveryError,
  DeliveryTimeoutError,
  type Fate,
  ProducerClosedError,
  ProducerFencedError,
  ProtocolError,
  RecordTooLargeError,
  SendBatchError,
  type SendBatchResult,
  SendonceError,
  TransportError,
} from './errors.ts';
export type { Guarantees } from './guarantees.ts';
export type { IdempotencyKeyReader } from './idempotency-key.ts';
export { channelHooks, type RecordMessage } from './observe/channel-hooks.ts';
export { combineHooks } from './observe/combine-hooks.ts';
export type {
  AttemptInfo,
  AttemptOutcome,
  BatchInfo,
  BatchOutcome,
  ProducerEvent,
  ProducerHooks,
  ProducerIdOutcome,
  ProducerIdRequest,
  ProducerInfo,
  ProducerLogger,
  RecordWatch,
} from './observe/hooks.ts';
export type { Partitioner, ProducerOptions } from './options.ts';
export { createProducer, type Producer, type ProducerState } from './producer.ts';
export { createProducerPool, type ProducerPool, type ProducerPoolOptions } from './producer-pool.ts';
export type { ProducerRecord, RecordBytes, RecordHeaders, RecordMetadata } from './record.ts';
export type { CompressionCodec, CompressionName } from './record-batch/index.ts';
export type { Runtime, TimerHandle } from './runtime.ts';
export type { ProducerStats } from './stats.ts';
