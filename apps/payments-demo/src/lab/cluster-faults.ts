import type { MemoryCluster } from '@sendonce/transport-memory';

/** What can be done to a cluster on purpose. */
export interface ClusterFaults {
  readonly brokerIds: readonly number[];
  /** The next batch is stored, and its reply swallowed. */
  loseNextReply(): void;
  /** The next replies take so much longer. */
  delayReplies(times: number, byMs: number): void;
  /** The broker that gets the next batch dies after storing it and before it answers. Resolves with its id when it is dead. */
  killAtNextBatch(): Promise<number>;
  restart(brokerId: number): Promise<void>;
  freeze(brokerId: number): void;
  resume(brokerId: number): void;
}

export function memoryFaults(cluster: MemoryCluster, topic: string, brokers: number): ClusterFaults {
  return {
    brokerIds: Array.from({ length: brokers }, (_, index) => index + 1),
    loseNextReply: () => void cluster.faults.loseReply({ topic }),
    delayReplies: (times, byMs) => void cluster.faults.delay({ topic, times }, { replyMs: byMs }),
    killAtNextBatch: () =>
      new Promise((resolve) => {
        const stop = cluster.onEvent((event) => {
          if (event.type !== 'broker-killed') return;
          stop();
          resolve(event.brokerId);
        });
        cluster.faults.kill({ topic }, 'after');
      }),
    restart: async (brokerId) => cluster.broker(brokerId).restart(),
    freeze: (brokerId) => cluster.broker(brokerId).pause(),
    resume: (brokerId) => cluster.broker(brokerId).resume(),
  };
}
