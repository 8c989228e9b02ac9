import type { Attributes } from '@opentelemetry/api';
import type {
  AttemptOutcome,
  BatchOutcome,
  ProducerEvent,
  ProducerIdOutcome,
  ProducerIdRequest,
  ProducerInfo,
} from '@sendonce/producer-core';
import type { NameAttributes } from '../attributes.ts';
import type { Clock } from '../clock.ts';
import { errorTypeOf } from '../error-type.ts';
import { measuredPerSecond } from '../measured-per-second.ts';
import { BoundedLabel } from '../metrics/bounded-label.ts';
import type { GaugeName } from '../metrics/catalogue.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { Pacer } from '../pacer.ts';
import { conventional, kafka } from '../semconv.ts';
import type { BatchFacts } from './batch-facts.ts';
import type { RecordTrace } from './record-trace.ts';

const sequenceErrors: ReadonlySet<string> = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
]);

/** Client ids that are told apart. */
const clientsMax = 100;

type Readings = Record<GaugeName, number>;
const noReadings: Readings = {
  bufferLimit: 0,
  bufferAvailable: 0,
  requestsInFlight: 0,
  recordsPending: 0,
  hookFailures: 0,
  producersActive: 0,
};

/** What producers' hooks count and measure. */
export class ProducerMetrics {
  readonly #metrics: Metrics;
  readonly #topics: BoundedLabel;
  readonly #named: NameAttributes;
  readonly #clock: Clock;
  readonly #pacer = new Pacer(measuredPerSecond, performance.now());
  readonly #active = new Set<ProducerInfo>();
  readonly #clients = new BoundedLabel(clientsMax);
  readonly #clientIds = new Set<string>();

  constructor(metrics: Metrics, topics: BoundedLabel, named: NameAttributes, clock: Clock) {
    this.#metrics = metrics;
    this.#topics = topics;
    this.#named = named;
    this.#clock = clock;
  }

  producerStarted(producer: ProducerInfo): void {
    this.#metrics.count('producersCreated', 1);
    this.#active.add(producer);
    this.#clientIds.add(this.#clients.of(producer.clientId));
  }

  producerClosed(producer: ProducerInfo): void {
    this.#active.delete(producer);
  }

  /**
   * One series for each client id, whatever the number of producers that share it. One that has no producer any more is reported as 0: an SDK would
   * go on to report the last value it heard.
   */
  readGauges(observe: (gauge: GaugeName, value: number, attributes: Attributes) => void): void {
    const sums = new Map<string, Readings>();
    for (const clientId of this.#clientIds) sums.set(clientId, { ...noReadings });
    for (const { clientId, stats } of this.#active) {
      const { bufferLimitBytes, bufferUsedBytes, requestsInFlight, pendingRecords, hookFailures } = stats();
      const sum = sums.get(this.#clients.of(clientId))!;
      sum.bufferLimit += bufferLimitBytes;
      sum.bufferAvailable += bufferLimitBytes - bufferUsedBytes;
      sum.requestsInFlight += requestsInFlight;
      sum.recordsPending += pendingRecords;
      sum.hookFailures += hookFailures;
      sum.producersActive++;
    }
    for (const [clientId, readings] of sums) {
      const attributes = { [conventional.clientId]: clientId };
      for (const [gauge, value] of Object.entries(readings)) observe(gauge as GaugeName, value, attributes);
    }
  }

  recordRefused(topic: string | null, error: Error): void {
    const label = topic === null ? undefined : this.#topics.of(topic);
    const errorType = errorTypeOf(error);
    this.#metrics.count('sentMessages', 1, label, errorType);
    this.#metrics.count('recordErrors', 1, label, errorType, 'not-stored');
    if (errorType === 'BUFFER_FULL') this.#metrics.count('bufferRejected', 1, label);
  }

  recordSettled({ topic, timedFromMs }: RecordTrace, errorType: string | null): void {
    if (timedFromMs === null) return;
    this.#metrics.record(
      'operationDuration',
      (this.#clock.elapsedMs() - timedFromMs) / 1_000,
      this.#named({
        [conventional.systemName]: kafka,
        [conventional.operationName]: 'send',
        [conventional.destinationName]: this.#topics.of(topic),
        ...(errorType === null ? {} : { [conventional.errorType]: errorType }),
      }),
    );
  }

  /** For the first time. */
  batchLeaves(facts: BatchFacts): void {
    this.#pacer.adapt(performance.now());
    if (!this.#pacer.pick()) return;
    facts.isMeasured = true;
    const { topic, sizeBytes, recordCount } = facts.batch;
    const attributes = { [conventional.destinationName]: this.#topics.of(topic) };
    this.#metrics.record('queueDuration', facts.queueMs! / 1_000, attributes);
    this.#metrics.record('batchSize', sizeBytes, attributes);
    this.#metrics.record('batchRecords', recordCount, attributes);
  }

  batchSplit({ batch }: BatchFacts): void {
    this.#metrics.count('batchSplits', 1, this.#topics.of(batch.topic));
  }

  /** Before the attempt's facts are known. */
  attemptStarted({ batch, attempts, lastErrorType, lastClass }: BatchFacts): void {
    const topic = this.#topics.of(batch.topic);
    this.#metrics.count('recordSends', batch.recordCount, topic);
    if (attempts > 0) {
      this.#metrics.count(
        'recordRetries',
        batch.recordCount,
        topic,
        lastErrorType ?? undefined,
        lastClass ?? undefined,
      );
    }
  }

  /** After the attempt's facts are known. */
  attemptEnded(
    facts: BatchFacts,
    startedAtMs: number,
    { endedAtMs, effect, errorName, isOldest }: AttemptOutcome,
  ): void {
    const { batch, attempts, duplicate, evidence } = facts;
    const topic = this.#topics.of(batch.topic);
    const isStored = effect === 'stored';
    const errorType = isStored ? undefined : (errorName ?? undefined);
    this.#metrics.count('batchAttempts', 1, topic, isStored ? 'stored' : 'failed', String(attempts > 1), errorType);
    if (isStored && duplicate !== 'none') {
      this.#metrics.count('duplicates', batch.recordCount, topic, duplicate, evidence ?? undefined);
    }
    if (errorType !== undefined && sequenceErrors.has(errorType)) {
      this.#metrics.count('sequenceErrors', 1, errorType, String(!isOldest));
    }
    if (!facts.isMeasured) return;
    this.#metrics.record('attemptDuration', (endedAtMs - startedAtMs) / 1_000, {
      [conventional.destinationName]: topic,
      ...(errorType === undefined ? {} : { [conventional.errorType]: errorType }),
    });
  }

  batchSettled(facts: BatchFacts, { error, fate }: BatchOutcome): void {
    const { batch, lastErrorType } = facts;
    const topic = this.#topics.of(batch.topic);
    const errorType = error === null ? undefined : errorTypeOf(error, lastErrorType);
    this.#metrics.count('sentMessages', batch.recordCount, topic, errorType);
    if (errorType !== undefined) this.#metrics.count('recordErrors', batch.recordCount, topic, errorType, fate);
    if (!facts.isMeasured) return;
    this.#metrics.record('attemptCount', facts.attempts, { [conventional.destinationName]: topic });
  }

  idAnswered({ reason }: ProducerIdRequest, { error }: ProducerIdOutcome): void {
    if (error === null) this.#metrics.count('idAssignments', 1, reason);
    else this.#metrics.count('idFailures', 1, errorTypeOf(error));
  }

  event(event: ProducerEvent): void {
    switch (event.type) {
      case 'epoch-bumped':
        this.#metrics.count('epochBumps', 1, event.trigger);
        break;
      case 'resolving':
        this.#metrics.count('resolutions', 1, event.trigger);
        break;
      case 'data-loss-suspected':
        this.#metrics.count('dataLossSuspected', 1, this.#topics.of(event.topic), event.trigger);
        break;
      case 'topic-recreated':
        // What was acknowledged before is gone: one more way to lose it.
        this.#metrics.count('dataLossSuspected', 1, this.#topics.of(event.topic), event.type);
        break;
      case 'retries-unprotected':
        this.#metrics.count('retriesUnprotected', 1, this.#topics.of(event.topic));
        break;
      case 'leader-changed':
        this.#metrics.count('leaderChanges', 1, this.#topics.of(event.topic));
        break;
      case 'unheard-failures':
        this.#metrics.count('unheardFailures', event.records, this.#topics.of(event.topic));
        break;
      case 'metadata-failed':
        this.#metrics.count('metadataFailures', 1, errorTypeOf(event.error));
        break;
      case 'fatal':
        this.#metrics.count('fatal', 1, errorTypeOf(event.error));
        break;
      case 'producer-churn':
        this.#metrics.count('churnWarnings', 1);
        break;
      case 'batch-split':
        // Counted by its own hook.
        break;
    }
  }
}
