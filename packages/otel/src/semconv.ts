/**
 * Attribute names of the semantic conventions for messaging, as of version 1.45 (in development there, so names may still move).
 * Copied, as the conventions' package asks of libraries; a test compares them with that package.
 */
export const conventional = {
  systemName: 'messaging.system.name',
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destinationName: 'messaging.destination.name',
  partitionId: 'messaging.destination.partition.id',
  clientId: 'messaging.client.id',
  batchMessageCount: 'messaging.batch.message_count',
  offset: 'kafka.offset',
  messageKey: 'kafka.message.key',
  tombstone: 'kafka.message.tombstone',
  errorType: 'error.type',
} as const;

/** What four of them were called up to version 1.44. */
export const previousNames: ReadonlyMap<string, string> = new Map([
  [conventional.systemName, 'messaging.system'],
  [conventional.offset, 'messaging.kafka.offset'],
  [conventional.messageKey, 'messaging.kafka.message.key'],
  [conventional.tombstone, 'messaging.kafka.message.tombstone'],
]);

/** Attribute names of ours. Neither `messaging.` nor `kafka.`: those namespaces are the conventions'. */
export const own = {
  producerId: 'sendonce.producer.id',
  producerEpoch: 'sendonce.producer.epoch',
  baseSequence: 'sendonce.base_sequence',
  brokerId: 'sendonce.broker.id',
  attempt: 'sendonce.attempt',
  attemptOutcome: 'sendonce.attempt.outcome',
  resend: 'sendonce.resend',
  resendCount: 'sendonce.resend_count',
  attempts: 'sendonce.attempts',
  retried: 'sendonce.retried',
  retryClass: 'sendonce.retry.class',
  retryClasses: 'sendonce.retry.classes',
  backoffMs: 'sendonce.retry.backoff_ms',
  lastErrorType: 'sendonce.last_error.type',
  duplicate: 'sendonce.duplicate',
  duplicateEvidence: 'sendonce.duplicate.evidence',
  fate: 'sendonce.fate',
  queueMs: 'sendonce.queue_ms',
  batchSizeBytes: 'sendonce.batch.size_bytes',
  epochBumps: 'sendonce.epoch_bumps',
  reason: 'sendonce.reason',
  cascade: 'sendonce.cascade',
  link: 'sendonce.link',
  dedupOutcome: 'sendonce.dedup.outcome',
  dedupFailure: 'sendonce.dedup.failure',
  dedupStore: 'sendonce.dedup.store',
  dedupNamespace: 'sendonce.dedup.namespace',
  dedupOperation: 'sendonce.dedup.operation',
  dedupKey: 'sendonce.dedup.key',
  dedupFirstTopic: 'sendonce.dedup.first.topic',
  dedupFirstPartition: 'sendonce.dedup.first.partition',
  dedupFirstOffset: 'sendonce.dedup.first.offset',
  dedupFirstTraceId: 'sendonce.dedup.first.trace_id',
  dedupFirstSpanId: 'sendonce.dedup.first.span_id',
} as const;

export const kafka = 'kafka';
export const schemaUrl = 'https://opentelemetry.io/schemas/1.45.0';
