import { createSimulatedRuntime, type SimulatedRuntime } from '@sendonce/producer-core/testing';
import type { PartitionResult, Transport } from '@sendonce/producer-core/transport';
import { produceOne, type TestProduce } from './batches.testkit.ts';
import { createMemoryCluster, type MemoryCluster } from './cluster.ts';
import type { ClusterEvent } from './events.ts';
import type { MemoryClusterOptions } from './options.ts';

export interface SimulatedCluster {
  readonly runtime: SimulatedRuntime;
  readonly cluster: MemoryCluster;
  readonly transport: Transport;
  /** Sends one batch to partition 0 of `payments` on broker 1, unless told otherwise, and runs until it is answered. */
  produce(batch: TestProduce): Promise<PartitionResult>;
  /** The same without running: for requests that stay without an answer for now. */
  send(batch: TestProduce): Promise<PartitionResult>;
  eventsOf<T extends ClusterEvent['type']>(type: T): Extract<ClusterEvent, { readonly type: T }>[];
}

export function simulateCluster(options: MemoryClusterOptions = {}, seed = 1): SimulatedCluster {
  const runtime = createSimulatedRuntime({ seed });
  const cluster = createMemoryCluster({ topics: { payments: {} }, ...options, runtime });
  const transport = cluster.transport();
  return {
    runtime,
    cluster,
    transport,
    produce: (batch) => runtime.runUntilSettled(produceOne(transport, batch)),
    send: (batch) => {
      const sent = produceOne(transport, batch);
      sent.catch(() => {}); // A test that looks at it gets the error all the same.
      return sent;
    },
    eventsOf: <T extends ClusterEvent['type']>(type: T) =>
      cluster.events.filter((event): event is Extract<ClusterEvent, { readonly type: T }> => event.type === type),
  };
}
