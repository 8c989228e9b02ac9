import { protocolErrorCodes, protocolErrorName } from '@sendonce/producer-core/transport';
import { faultKinds, happensIn, type Mode } from './plan.ts';

/** What a long run has to reach: every fault, every answer that rule C11 has a row for, every state and every outcome. */
export function expectedCoverage(mode: Mode): string[] {
  return [
    ...faultKinds.filter((kind) => happensIn(kind, mode)).map((kind) => `fault: ${kind}`),
    ...[...Object.values<number>(protocolErrorCodes), 9999]
      // Only brokers of the profile `tutorial` say so, and by name nothing is sent to those.
      .filter((errorCode) => mode !== 'by-name' || errorCode !== protocolErrorCodes.UNKNOWN_PRODUCER_ID)
      .map((errorCode) => `answer: ${protocolErrorName(errorCode)}`),
    'answer: none, sent maybe',
    'answer: none, sent no',
    'event: resolving (delivery-timeout)',
    'event: resolving (refused)',
    'event: resolving (out-of-order)',
    ...(mode === 'by-name' ? [] : ['event: resolving (unknown-producer)', 'event: epoch-bumped (unknown-producer)']),
    'event: epoch-bumped (delivery-timeout)',
    'event: epoch-bumped (refused)',
    'event: leader-changed',
    ...(mode === 'unclean' ? [] : ['event: topic-recreated']),
    'event: batch-split',
    'event: metadata-failed',
    'event: fatal',
    ...(mode === 'unclean' ? ['event: data-loss-suspected (out-of-order)'] : []),
    'state: a new producer id after the last epoch',
    'state: closed',
    'workload: abort',
    'workload: close',
    'workload: crash',
    'workload: enqueue had no room',
    'workload: flush',
    'workload: freeze',
    'workload: idle',
    'outcome: acknowledged',
    'outcome: acknowledged, offset unknown',
    'outcome: not-stored (AuthorizationError AUTHORIZATION)',
    'outcome: not-stored (BufferFullError BUFFER_FULL)',
    'outcome: not-stored (DeliveryError PRODUCER_CLOSED)',
    'outcome: not-stored (DeliveryError REFUSED)',
    ...(mode === 'unclean'
      ? []
      : ['outcome: not-stored (DeliveryError UNKNOWN_TOPIC)', 'outcome: unknown (DeliveryError UNKNOWN_TOPIC)']),
    'outcome: not-stored (DeliveryTimeoutError DELIVERY_TIMEOUT)',
    'outcome: not-stored (RecordTooLargeError RECORD_TOO_LARGE)',
    'outcome: unknown (DeliveryError PRODUCER_CLOSED)',
    'outcome: unknown (DeliveryError REFUSED)',
    'outcome: unknown (DeliveryTimeoutError DELIVERY_TIMEOUT)',
    'cluster: batch-recognised',
    'cluster: broker-fenced',
    'cluster: log-truncated',
    'cluster: partitions-added',
    'cluster: producer-forgotten',
    'cluster: records-deleted',
    'cluster: request-timed-out',
    'cluster: snapshot-refused',
    ...(mode === 'unclean' ? [] : ['cluster: topic-created', 'cluster: topic-deleted']),
    ...(mode === 'unclean' ? ['cluster: unclean-election'] : []),
  ];
}
