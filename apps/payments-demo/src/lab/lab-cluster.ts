import { createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import { paymentsPartitions, paymentsTopic } from '../system/payment.ts';

export const labBrokers = 3;
/** The worked example's first offset and producer id: what the lesson tells is what the live system shows. */
export const labFirstOffset = 900;
const firstProducerId = 5001;

/** How long things take in the live system: slow enough to watch, short enough to wait for. */
export interface LabTimes {
  readonly requestTimeoutMs: number;
  readonly deliveryTimeoutMs: number;
  /** How long a broker that was killed or frozen, or a consumer that crashed, stays away. */
  readonly outageMs: number;
}

export const watchableTimes: LabTimes = { requestTimeoutMs: 1_200, deliveryTimeoutMs: 6_000, outageMs: 4_000 };

/** The live system's cluster: three brokers that answer as current ones do. */
export function createLabCluster({ outageMs }: LabTimes = watchableTimes): MemoryCluster {
  return createMemoryCluster({
    brokers: labBrokers,
    profile: 'kafka-4',
    topics: {
      [paymentsTopic]: {
        partitions: paymentsPartitions,
        replicationFactor: labBrokers,
        minInsyncReplicas: 2,
        firstOffset: labFirstOffset,
      },
    },
    firstProducerId,
    producerIdBlockSize: 1,
    latencyMs: { minMs: 2, maxMs: 6 },
    replicationDelayMs: 3,
    electionDelayMs: 200,
    // The others give up on a frozen broker well before it wakes up.
    sessionTimeoutMs: Math.ceil(outageMs / 3),
  });
}
