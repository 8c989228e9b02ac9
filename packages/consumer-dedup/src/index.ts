export { MAX_BATCH_MESSAGES } from './call-checks.ts';
export {
  type BatchContextOf,
  type BatchOptions,
  type ContextOf,
  createDeduplicator,
  type Deduplicator,
} from './deduplicator.ts';
export {
  DedupConfigError,
  DedupError,
  type DedupErrorOptions,
  InProgressError,
  KeyError,
  LeaseLostError,
  ResultError,
  StoreSetupError,
  StoreUnavailableError,
} from './errors.ts';
export type { FingerprintSource } from './fingerprint.ts';
export type {
  BatchHandler,
  Handler,
  Isolation,
  LeaseBatchContext,
  LeaseContext,
  TransactionContext,
} from './handler.ts';
export type {
  DedupHooks,
  LeaseLostEvent,
  LeaseTakeoverEvent,
  MessageWatch,
  OutcomeEvent,
  StoreOperation,
  StoreOperationEvent,
  TransactionRetryEvent,
} from './hooks.ts';
export type {
  EachBatch,
  EachBatchOptions,
  EachBatchPayload,
  EachMessage,
  EachMessageOptions,
  EachMessagePayload,
  Verdict,
} from './kafkajs.ts';
export { IDEMPOTENCY_KEY_HEADER, type KeySource, type KeyValue, MAX_PLAIN_KEY_BYTES } from './key.ts';
export { type MemoryStoreOptions, memoryStore } from './memory-store.ts';
export {
  type ConsumedMessage,
  type HeaderValue,
  headerValues,
  type MessageHeaders,
  type MessageSource,
  type TopicPartition,
} from './message.ts';
export type { DeduplicatorOptions } from './options.ts';
export {
  type Committable,
  type Conflict,
  committable,
  type Duplicate,
  type Failed,
  type FailureReason,
  type FirstRun,
  type InProgress,
  isCommittable,
  type Outcome,
  type Processed,
} from './outcome.ts';
export type {
  ClaimRequest,
  DedupStore,
  DedupTransaction,
  DoneAnswer,
  HeldAnswer,
  Lease,
  LeasedAnswer,
  LeaseStore,
  MaintenanceStep,
  StoredOffset,
  StoredRecord,
  TransactionSettings,
  TransactionStore,
} from './store.ts';
