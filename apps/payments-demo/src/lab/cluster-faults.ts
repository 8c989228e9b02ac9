import type { MemoryCluster } from '@sendonce/transport-memory';

/** What can go wrong between the producer and the brokers, on purpose. */
export interface NetworkFaults {
  /** The next batch is stored, and its reply swallowed. */
  loseNextReply(): void;
  /** The next batch does not arrive. */
  loseNextRequest(): void;
  /** The next replies take so much longer. Returns how to stop before there were so many. */
  delayReplies(times: number, byMs: number): () => void;
}

/** What can be done to brokers on purpose. */
export interface BrokerFaults {
  readonly brokerIds: readonly number[];
  stateOf(brokerId: number): 'running' | 'frozen' | 'dead';
  /** The broker that gets the next batch dies before it answers. Resolves with its id when it is dead. */
  killAtNextBatch(): Promise<number>;
  restart(brokerId: number): Promise<void>;
  freeze(brokerId: number): void;
  resume(brokerId: number): void;
}

/** `null`: not in the demo's hands. */
export interface ClusterFaults {
  readonly network: NetworkFaults | null;
  readonly brokers: BrokerFaults | null;
}

/** A cluster that somebody else runs. */
export const noFaults: ClusterFaults = { network: null, brokers: null };

const stateNames = { running: 'running', paused: 'frozen', killed: 'dead' } as const;

export function memoryFaults(cluster: MemoryCluster, topic: string, brokers: number): Required<ClusterFaults> {
  return {
    network: {
      loseNextReply: () => void cluster.faults.loseReply({ topic }),
      loseNextRequest: () => void cluster.faults.loseRequest({ topic }),
      delayReplies: (times, byMs) => {
        const delay = cluster.faults.delay({ topic, times }, { replyMs: byMs });
        return () => delay.cancel();
      },
    },
    brokers: {
      brokerIds: Array.from({ length: brokers }, (_, index) => index + 1),
      stateOf: (brokerId) => stateNames[cluster.broker(brokerId).state],
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
    },
  };
}
