import type { PartitionQueue } from '../accumulator/partition-queue.ts';
import type { Observer } from '../observe/observer.ts';
import type { ResolvedOptions } from '../options.ts';
import type { ProducerIdentity } from '../transport/transport.ts';
import type { DeadlineQueue } from './deadline-queue.ts';
import type { SenderStats } from './sender-stats.ts';

/** What the sender needs from its surroundings. */
export interface SenderPorts {
  readonly options: ResolvedOptions;
  readonly deadlines: DeadlineQueue;
  readonly observer: Observer;
  readonly stats: SenderStats;
  /** Runs work outside any caller's async context (rule C17). */
  readonly outsideCallers: <T>(work: () => T) => T;
  wantMetadata(queue: PartitionQueue): void;
  refreshMetadataIfOld(nowMs: number): void;
  identity(): ProducerIdentity;
  /** Asks for a new producer id, and hands it to `takeIdentity` (C10). */
  requestIdentity(queue: PartitionQueue): void;
  /** The producer stops (C11). */
  fatal(error: Error): void;
}
