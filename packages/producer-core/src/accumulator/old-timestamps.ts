import type { Observer } from '../observe/observer.ts';
import type { ResolvedOptions } from '../options.ts';
import type { TopicState } from './topic-state.ts';

/** Rule C19: brokers forget a producer by its records' timestamps, so a retry of an old record is not protected. Told once a topic. */
export function reportOldTimestamp(
  topic: TopicState,
  timestamp: number,
  { idempotence, producerIdExpirationMs, runtime }: ResolvedOptions,
  observer: Observer,
): void {
  if (topic.hasReportedOldTimestamps || !idempotence) return;
  if (runtime.wallClockMs() - timestamp <= producerIdExpirationMs) return;
  topic.hasReportedOldTimestamps = true;
  observer.event({ type: 'retries-unprotected', topic: topic.topic, timestamp, producerIdExpirationMs });
  observer.warn(
    `Topic ${topic.topic} gets records dated ${new Date(timestamp).toISOString()}, longer ago than brokers remember a producer ` +
      `(producerIdExpirationMs, ${producerIdExpirationMs} ms): a retry of such a record may be stored twice. Deduplicate them by a business key.`,
    'SENDONCE_RETRIES_UNPROTECTED',
  );
}
