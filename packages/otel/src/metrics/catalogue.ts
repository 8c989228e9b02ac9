import type { measuredPerSecond } from '../measured-per-second.ts';
import { conventional, own } from '../semconv.ts';

interface Described {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
}

/** Exact, whatever the load: kept in a {@link Tally}. `labels` in the order in which their values are given. */
export interface CounterDefinition extends Described {
  readonly labels: readonly string[];
}

/** A picture of what happens, of every event while there are few, then of every n-th ({@link measuredPerSecond}). Its count is no rate. */
export interface HistogramDefinition extends Described {
  readonly boundaries: readonly number[];
}

/** The state of now, read when metrics are collected. */
export type GaugeDefinition = Described;

const topic = conventional.destinationName;
const { errorType } = conventional;

/** The conventions' boundaries, and three more: a delivery may take two minutes (`deliveryTimeoutMs`). */
const seconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120];
const bytes = [256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];
const counts = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

const counter = (name: string, unit: string, description: string, ...labels: string[]): CounterDefinition => ({
  name,
  unit: `{${unit}}`,
  description,
  labels,
});

export const counters = {
  sentMessages: counter(
    'messaging.client.sent.messages',
    'message',
    'Records whose send was settled, once each, however many attempts it took; with error.type those that failed.',
    topic,
    errorType,
  ),
  recordSends: counter(
    'sendonce.producer.record.sends',
    'record',
    'Records put on the wire, again and again included. Java: record-send-total.',
    topic,
  ),
  recordRetries: counter(
    'sendonce.producer.record.retries',
    'record',
    'Records put on the wire again, by why. Java: record-retry-total.',
    topic,
    errorType,
    own.retryClass,
  ),
  batchAttempts: counter(
    'sendonce.producer.batch.attempts',
    'attempt',
    'Attempts that ended: one batch in one request.',
    topic,
    own.attemptOutcome,
    own.resend,
    errorType,
  ),
  recordErrors: counter(
    'sendonce.producer.record.errors',
    'record',
    'Records that failed for good, by error and by what is known of their fate. Java: record-error-total.',
    topic,
    errorType,
    own.fate,
  ),
  batchSplits: counter(
    'sendonce.producer.batch.splits',
    'split',
    'Batches split in two because the broker found them too large. Java: batch-split-total.',
    topic,
  ),
  bufferRejected: counter(
    'sendonce.producer.buffer.rejected',
    'record',
    'Records refused because bufferMemory was full. Java: buffer-exhausted-total.',
    topic,
  ),
  epochBumps: counter(
    'sendonce.producer.epoch.bumps',
    'bump',
    'Partitions that took their next epoch, by why.',
    own.reason,
  ),
  resolutions: counter(
    'sendonce.producer.resolutions',
    'resolution',
    'Partitions that had to find out what is stored before they could go on, by why.',
    own.reason,
  ),
  dataLossSuspected: counter(
    'sendonce.producer.data_loss.suspected',
    'suspicion',
    'The broker does not have what it acknowledged.',
    topic,
    own.reason,
  ),
  retriesUnprotected: counter(
    'sendonce.producer.retries.unprotected',
    'topic',
    'Topics that got records older than brokers remember a producer: their retries may be stored twice.',
    topic,
  ),
  idAssignments: counter(
    'sendonce.producer.id.assignments',
    'assignment',
    'Producer ids received, by why they were asked for.',
    own.reason,
  ),
  idFailures: counter('sendonce.producer.id.failures', 'failure', 'Requests for a producer id that failed.', errorType),
  duplicates: counter(
    'sendonce.producer.duplicates',
    'record',
    'Records of retries that the broker recognised (confirmed), or may have (possible: an upper bound, not a count).',
    topic,
    own.duplicate,
    own.duplicateEvidence,
  ),
  sequenceErrors: counter(
    'sendonce.producer.sequence.errors',
    'error',
    'Answers that name the numbers: out of order, unknown producer, old epoch. With cascade=true the echo of an earlier failure.',
    errorType,
    own.cascade,
  ),
  unheardFailures: counter(
    'sendonce.producer.record.unheard',
    'record',
    'Records that failed and for which nobody listened.',
    topic,
  ),
  leaderChanges: counter(
    'sendonce.producer.leader.changes',
    'change',
    'Partitions seen to change their leader.',
    topic,
  ),
  metadataFailures: counter(
    'sendonce.producer.metadata.failures',
    'failure',
    'Metadata requests that failed.',
    errorType,
  ),
  fatal: counter(
    'sendonce.producer.fatal',
    'producer',
    'Producers that stopped for good: fenced, or a broken invariant.',
    errorType,
  ),
  churnWarnings: counter(
    'sendonce.producer.churn.warnings',
    'warning',
    'Processes that were told that they create many short-lived producers.',
  ),
  producersCreated: counter('sendonce.producer.created', 'producer', 'Producers that became ready.'),
  consumedMessages: counter(
    'messaging.client.consumed.messages',
    'message',
    'Messages handed to the deduplicator, once for each delivery.',
    topic,
    errorType,
  ),
  dedupMessages: counter(
    'sendonce.consumer.dedup.messages',
    'message',
    'Messages by what became of them.',
    own.dedupOutcome,
    own.dedupFailure,
    own.dedupStore,
    own.dedupNamespace,
  ),
  storeErrors: counter(
    'sendonce.consumer.dedup.store.errors',
    'error',
    "Requests to the deduplicator's store that failed.",
    own.dedupStore,
    own.dedupOperation,
    errorType,
  ),
  leaseTakeovers: counter(
    'sendonce.consumer.dedup.lease.takeovers',
    'takeover',
    'Claims that took over a key whose lease had ended.',
    own.dedupNamespace,
  ),
  leasesLost: counter(
    'sendonce.consumer.dedup.lease.losses',
    'lease',
    'Leases that ended while their handler was running.',
    own.dedupNamespace,
  ),
  transactionRetries: counter(
    'sendonce.consumer.dedup.transaction.retries',
    'retry',
    'Transactions run again because the database asked for it.',
    own.dedupNamespace,
  ),
  propagationConflicts: counter(
    'sendonce.propagation.conflicts',
    'message',
    'Messages with more than one trace context header: none of them was used.',
  ),
} as const satisfies Record<string, CounterDefinition>;

export const histograms = {
  operationDuration: {
    name: 'messaging.client.operation.duration',
    unit: 's',
    description: 'From the call of send to its settlement, retries included.',
    boundaries: seconds,
  },
  attemptDuration: {
    name: 'sendonce.producer.attempt.duration',
    unit: 's',
    description: "One produce request's round trip. Java: request-latency.",
    boundaries: seconds,
  },
  queueDuration: {
    name: 'sendonce.producer.queue.duration',
    unit: 's',
    description: "From a batch's first record to its first attempt. Java: record-queue-time.",
    boundaries: [0.000_1, 0.000_5, 0.001, 0.002_5, ...seconds],
  },
  batchSize: {
    name: 'sendonce.producer.batch.size',
    unit: 'By',
    description: 'Size of a batch when it first leaves. Java: batch-size.',
    boundaries: bytes,
  },
  batchRecords: {
    name: 'sendonce.producer.batch.records',
    unit: '{record}',
    description: 'Records in a batch when it first leaves.',
    boundaries: counts,
  },
  attemptCount: {
    name: 'sendonce.producer.batch.attempt_count',
    unit: '{attempt}',
    description: 'Attempts that a batch took until it was settled.',
    boundaries: [1, 2, 3, 4, 5, 8, 13, 21, 34],
  },
  processDuration: {
    name: 'messaging.process.duration',
    unit: 's',
    description: 'From handing a message to the deduplicator to its outcome.',
    boundaries: seconds,
  },
  dedupDuration: {
    name: 'sendonce.consumer.dedup.duration',
    unit: 's',
    description: "One request to the deduplicator's store.",
    boundaries: [0.000_1, 0.000_5, 0.001, 0.002_5, ...seconds],
  },
} as const satisfies Record<string, HistogramDefinition>;

export const gauges = {
  bufferAvailable: {
    name: 'sendonce.producer.buffer.available',
    unit: 'By',
    description: 'bufferMemory that is free. Java: buffer-available-bytes.',
  },
  bufferLimit: {
    name: 'sendonce.producer.buffer.limit',
    unit: 'By',
    description: 'bufferMemory. Java: buffer-total-bytes.',
  },
  requestsInFlight: {
    name: 'sendonce.producer.request.inflight',
    unit: '{request}',
    description: 'Produce requests without an answer. Java: requests-in-flight.',
  },
  recordsPending: {
    name: 'sendonce.producer.record.pending',
    unit: '{record}',
    description: 'Records taken and not settled.',
  },
  producersActive: {
    name: 'sendonce.producer.active',
    unit: '{producer}',
    description: 'Producers that are ready and not closed.',
  },
  hookFailures: {
    name: 'sendonce.producer.hook.failures',
    unit: '{failure}',
    description: 'Hooks and callbacks that threw, in the producers that are not closed.',
  },
} as const satisfies Record<string, GaugeDefinition>;

export type CounterName = keyof typeof counters;
export type HistogramName = keyof typeof histograms;
export type GaugeName = keyof typeof gauges;
