import type { BrokerView, PartitionView } from './snapshot.ts';

/** Sees what can be seen of a cluster. */
export interface ClusterEye {
  readonly kind: 'memory' | 'kafka';
  brokers(): BrokerView[];
  partitions(): PartitionView[];
  /** Records that are in the log, of all partitions. */
  readonly records: number;
}

/** Batches of each log that are shown. */
export const batchesShown = 6;
/** Producers of each notebook that are shown. */
export const notebookPagesShown = 2;

/** The tutorial's brokers have letters. */
export function brokerLetter(brokerId: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + brokerId - 1);
}
