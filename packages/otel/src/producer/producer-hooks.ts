import type { ProducerHooks } from '@sendonce/producer-core';
import { measuredPerSecond } from '../measured-per-second.ts';
import { Pacer } from '../pacer.ts';
import { own } from '../semconv.ts';
import { AcknowledgedPositions } from './acknowledged-positions.ts';
import type { BatchBook } from './batch-book.ts';
import type { ProducerMetrics } from './producer-metrics.ts';
import type { ProducerSpans } from './producer-spans.ts';

export interface ProducerHookParts {
  readonly book: BatchBook;
  readonly spans: ProducerSpans;
  readonly metrics: ProducerMetrics;
  readonly rootSpansPerSecond: number;
  /** Called now and then, at least whenever a batch leaves. */
  readonly refresh: () => void;
  readonly isEnabled: () => boolean;
}

/** Turns what a producer says into spans and metrics. */
export function createProducerHooks({
  book,
  spans,
  metrics,
  rootSpansPerSecond,
  refresh,
  isEnabled,
}: ProducerHookParts): ProducerHooks {
  const positions = new AcknowledgedPositions();
  const nowMs = performance.now();
  const measured = new Pacer(measuredPerSecond, nowMs);
  const roots = new Pacer(rootSpansPerSecond, nowMs);

  const whenEnabled =
    <Args extends unknown[]>(hook: (...args: Args) => void): ((...args: Args) => void) =>
    (...args) => {
      if (isEnabled()) hook(...args);
    };

  return {
    onRecord(record, producer) {
      const isMeasured = measured.pick();
      const mayBeRoot = roots.pick();
      return isEnabled() ? spans.record(record, producer, isMeasured, mayBeRoot) : undefined;
    },
    onProducerStarted(producer) {
      // Counted also while disabled: it may be enabled before the producer closes.
      refresh();
      metrics.producerStarted(producer);
    },
    onProducerClosed(producer) {
      metrics.producerClosed(producer);
      spans.abandon(producer);
      book.forget(producer);
    },
    onProducerIdRequested: whenEnabled((request) => spans.idRequested(request)),
    onProducerIdAnswered: whenEnabled((request, outcome) => {
      spans.idAnswered(request, outcome);
      metrics.idAnswered(request, outcome);
    }),
    onRecordRefused: whenEnabled((topic, error) => metrics.recordRefused(topic, error)),
    onBatchDrained: whenEnabled((batch) => {
      refresh();
      const drainedMs = performance.now();
      measured.adapt(drainedMs);
      roots.adapt(drainedMs);
      const facts = book.of(batch);
      facts.drained();
      spans.batchDrained(facts);
    }),
    onBatchSplit: whenEnabled((batch, parts) => {
      const whole = book.of(batch);
      book.split(whole, parts);
      metrics.batchSplit(whole);
      spans.batchSplit(whole, parts);
      book.settled(whole);
    }),
    onAttemptStarted: whenEnabled((attempt) => {
      const facts = book.of(attempt.batch);
      if (facts.queueMs === null) {
        facts.queueMs = attempt.startedAtMs - attempt.batch.createdAtMs;
        metrics.batchLeaves(facts);
      }
      facts.attemptsOut++;
      metrics.attemptStarted(facts);
      spans.attemptStarted(facts, attempt);
    }),
    onAttemptEnded: whenEnabled((attempt, outcome) => {
      const facts = book.find(attempt.batch);
      // It started before telemetry was switched on, or its producer is closed.
      if (facts === undefined) return;
      facts.attemptsOut--;
      facts.attemptEnded(attempt, outcome, positions);
      metrics.attemptEnded(facts, attempt.startedAtMs, outcome);
      spans.attemptEnded(facts, attempt, outcome);
      book.looked(facts);
    }),
    onBatchSettled: whenEnabled((batch, outcome) => {
      const facts = book.of(batch);
      metrics.batchSettled(facts, outcome);
      spans.batchSettled(facts, outcome);
      book.settled(facts);
    }),
    onEvent: whenEnabled((event, producer) => {
      metrics.event(event);
      switch (event.type) {
        case 'epoch-bumped':
          spans.partitionEvent(event, producer, 'sendonce.epoch_bump', {
            [own.reason]: event.trigger,
            [own.producerEpoch]: event.epoch,
            [own.producerId]: String(event.producerId),
          });
          break;
        case 'resolving':
        case 'data-loss-suspected':
          spans.partitionEvent(event, producer, `sendonce.${event.type.replaceAll('-', '_')}`, {
            [own.reason]: event.trigger,
          });
          break;
        case 'leader-changed':
          spans.partitionEvent(event, producer, 'sendonce.leader_changed', { [own.brokerId]: event.brokerId });
      }
    }),
  };
}
