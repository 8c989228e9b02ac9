import type { DumpRow, MemoryCluster, ProducerStateEntry } from '@sendonce/transport-memory';
import { batchesShown, brokerLetter, type ClusterEye, notebookPagesShown } from './cluster-eye.ts';
import type { BrokerView, LogBatchView, NotebookView, PartitionView } from './snapshot.ts';

const stateNames = { running: 'running', paused: 'frozen', killed: 'dead' } as const;

export interface MemoryEyeOptions {
  readonly cluster: MemoryCluster;
  readonly topic: string;
  readonly brokers: number;
  readonly partitions: number;
  /** Offset of each partition's first record. */
  readonly firstOffset: number;
  readonly sessionOf: (producerId: bigint) => number;
}

/** Looks into the memory broker: logs, notebooks, replicas. */
export class MemoryEye implements ClusterEye {
  readonly kind = 'memory';
  readonly #options: MemoryEyeOptions;

  constructor(options: MemoryEyeOptions) {
    this.#options = options;
  }

  get records(): number {
    const { cluster, topic, partitions, firstOffset } = this.#options;
    let records = 0;
    for (let partition = 0; partition < partitions; partition += 1)
      records += cluster.partition(topic, partition).logEndOffset - firstOffset;
    return records;
  }

  brokers(): BrokerView[] {
    const { cluster, brokers } = this.#options;
    return Array.from({ length: brokers }, (_, index) => ({
      broker: brokerLetter(index + 1),
      state: stateNames[cluster.broker(index + 1).state],
    }));
  }

  partitions(): PartitionView[] {
    return Array.from({ length: this.#options.partitions }, (_, partition) => this.#partition(partition));
  }

  #partition(partition: number): PartitionView {
    const { cluster, topic, firstOffset } = this.#options;
    const handle = cluster.partition(topic, partition);
    return {
      partition,
      leader: handle.leader < 0 ? null : brokerLetter(handle.leader),
      leaderEpoch: handle.leaderEpoch,
      replicas: handle.replicas.map((brokerId) => ({
        broker: brokerLetter(brokerId),
        inSync: handle.isr.includes(brokerId),
        nextOffset: (handle.log(brokerId, { newest: 1 })[0]?.lastOffset ?? firstOffset - 1) + 1,
      })),
      records: handle.logEndOffset - firstOffset,
      nextOffset: handle.logEndOffset,
      batches: handle.log(undefined, { newest: batchesShown }).map((row) => this.#batch(row)),
      notebook: handle
        .producerState()
        .slice(-notebookPagesShown)
        .map((entry) => this.#notebook(entry)),
    };
  }

  #batch({ baseOffset, lastOffset, producerId, producerEpoch, baseSequence, lastSequence }: DumpRow): LogBatchView {
    const offsets = { first: baseOffset, last: lastOffset };
    if (producerId < 0n) return { offsets, numbers: null };
    const { sessionOf } = this.#options;
    const sequence = { first: baseSequence, last: lastSequence };
    const session = sessionOf(producerId);
    return { offsets, numbers: { session, producerId: String(producerId), epoch: producerEpoch, sequence } };
  }

  #notebook({ producerId, epoch, batches }: ProducerStateEntry): NotebookView {
    return {
      session: this.#options.sessionOf(producerId),
      producerId: String(producerId),
      epoch,
      batches: batches.map(({ baseSequence, lastSequence, baseOffset, lastOffset }) => ({
        sequence: { first: baseSequence, last: lastSequence },
        offsets: { first: baseOffset, last: lastOffset },
      })),
    };
  }
}
