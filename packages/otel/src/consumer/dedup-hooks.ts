import type { Attributes } from '@opentelemetry/api';
import type { DedupHooks } from '@sendonce/consumer-dedup';
import type { NameAttributes } from '../attributes.ts';
import { errorTypeOf } from '../error-type.ts';
import { measuredPerSecond } from '../measured-per-second.ts';
import type { BoundedLabel } from '../metrics/bounded-label.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { Pacer } from '../pacer.ts';
import { conventional, kafka, own } from '../semconv.ts';
import type { ProcessSpans } from './process-spans.ts';

export interface DedupHookParts {
  readonly spans: ProcessSpans;
  readonly metrics: Metrics;
  readonly topics: BoundedLabel;
  readonly named: NameAttributes;
  /** Called with each message. */
  readonly refresh: () => void;
  readonly isEnabled: () => boolean;
}

/** Turns what a deduplicator says into spans and metrics. */
export function createDedupHooks({ spans, metrics, topics, named, refresh, isEnabled }: DedupHookParts): DedupHooks {
  const nowMs = performance.now();
  const measuredMessages = new Pacer(measuredPerSecond, nowMs);
  const measuredRequests = new Pacer(measuredPerSecond, nowMs);
  const isPicked = (pacer: Pacer): boolean => {
    pacer.adapt(performance.now());
    return pacer.pick();
  };
  const withError = (attributes: Attributes, errorType: string | undefined): Attributes =>
    errorType === undefined ? attributes : { ...attributes, [conventional.errorType]: errorType };

  return {
    onMessage(message, source) {
      if (!isEnabled()) return undefined;
      refresh();
      return spans.message(message, source);
    },
    onOutcome({ source, status, reason, store, namespace, error, durationMs }) {
      if (!isEnabled()) return;
      const topic = source.topic === null ? undefined : topics.of(source.topic);
      const errorType = status === 'failed' ? errorTypeOf(error) : undefined;
      metrics.count('consumedMessages', 1, topic, errorType);
      metrics.count('dedupMessages', 1, status, reason ?? undefined, store, namespace);
      if (!isPicked(measuredMessages)) return;
      const attributes: Attributes = named({
        [conventional.systemName]: kafka,
        [conventional.operationName]: 'process',
        ...(topic === undefined ? {} : { [conventional.destinationName]: topic }),
        [own.dedupOutcome]: status,
      });
      metrics.record('processDuration', durationMs / 1_000, withError(attributes, errorType));
    },
    onStoreOperation({ store, operation, durationMs, error }) {
      if (!isEnabled()) return;
      refresh();
      const errorType = error === null ? undefined : errorTypeOf(error);
      if (errorType !== undefined) metrics.count('storeErrors', 1, store, operation, errorType);
      if (!isPicked(measuredRequests)) return;
      const attributes = { [own.dedupStore]: store, [own.dedupOperation]: operation };
      metrics.record('dedupDuration', durationMs / 1_000, withError(attributes, errorType));
    },
    onLeaseTakeover({ namespace }) {
      if (isEnabled()) metrics.count('leaseTakeovers', 1, namespace);
    },
    onLeaseLost({ namespace, keys }) {
      if (isEnabled()) metrics.count('leasesLost', keys.length, namespace);
    },
    onTransactionRetry({ namespace }) {
      if (isEnabled()) metrics.count('transactionRetries', 1, namespace);
    },
  };
}
