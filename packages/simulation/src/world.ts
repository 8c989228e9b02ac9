import type { ProducerHooks } from '@sendonce/producer-core';
import type { SimulatedRuntime } from '@sendonce/producer-core/testing';
import type { ClusterEvent, MemoryCluster } from '@sendonce/transport-memory';
import type { Coverage } from './coverage.ts';
import type { Violation } from './evidence.ts';
import type { Ledger, Session } from './ledger.ts';
import type { Plan } from './plan.ts';
import type { TopicLives } from './topic-lives.ts';
import type { Trace } from './trace.ts';

/** What the parts of one run share. */
export interface World {
  readonly plan: Plan;
  readonly runtime: SimulatedRuntime;
  readonly cluster: MemoryCluster;
  /** All events that the checks go by: the cluster itself keeps only its last ones. */
  readonly testimony: readonly ClusterEvent[];
  readonly topics: TopicLives;
  readonly ledger: Ledger;
  readonly coverage: Coverage;
  readonly trace: Trace;
  /** What someone who looks on wants to hear of a session's producer. */
  hooksFor(session: Session): ProducerHooks;
  /** Notes a property that did not hold, as far as it is seen while the run goes on. */
  report(violation: Violation): void;
}

export function pause(world: World, durationMs: number): Promise<void> {
  return new Promise((resolve) => world.runtime.schedule(durationMs, resolve));
}
