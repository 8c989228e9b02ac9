import type { PartitionQueue } from '../accumulator/partition-queue.ts';
import type { Runtime } from '../runtime.ts';
import type { DeadlineQueue } from './deadline-queue.ts';
import { backoffMs, type RetryPolicyOptions } from './retry-policy.ts';

interface RetryPausePorts {
  readonly deadlines: DeadlineQueue;
  readonly options: RetryPolicyOptions & { readonly runtime: Runtime };
}

/** The pause before a partition's next attempt. Several attempts that end together are one failure. */
export function pauseBeforeRetry(queue: PartitionQueue, { deadlines, options }: RetryPausePorts, nowMs: number): void {
  if (nowMs < queue.retryAtMs) return;
  queue.failures++;
  queue.retryAtMs = nowMs + backoffMs(options, queue.failures, options.runtime.random());
  deadlines.set(queue.retry, queue.retryAtMs);
}
