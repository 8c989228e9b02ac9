import type { KafkaBehindProxy } from '@sendonce/test-services';
import type { SystemEventEmitter } from '../system/events.ts';
import type { ClusterFaults } from './cluster-faults.ts';

const stateNames = { running: 'running', frozen: 'frozen', stopped: 'dead' } as const;

/** A real Kafka that the demo started itself, behind a proxy: its processes get signals, its replies get lost. */
export function kafkaFaults({ kafka, proxy }: KafkaBehindProxy, events: SystemEventEmitter): ClusterFaults {
  return {
    network: {
      loseNextReply: () => void proxy.faults.order('lose-reply'),
      loseNextRequest: () => void proxy.faults.order('lose-request'),
      delayReplies: (times, byMs) => {
        const delay = proxy.faults.order('delay-reply', { times, ms: byMs });
        return () => delay.cancel();
      },
    },
    brokers: {
      brokerIds: kafka.brokerIds,
      stateOf: (brokerId) => stateNames[kafka.state(brokerId)],
      killAtNextBatch: () =>
        new Promise((resolve, reject) => {
          events.once('attempt-started', ({ brokerId }) => {
            kafka.kill(brokerId).then(() => resolve(brokerId), reject);
          });
        }),
      restart: (brokerId) => kafka.restart(brokerId),
      freeze: (brokerId) => kafka.freeze(brokerId),
      resume: (brokerId) => kafka.resume(brokerId),
    },
  };
}
