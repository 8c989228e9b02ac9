import type { Attempt, BatchNumbers, SystemEventEmitter } from '../system/events.ts';
import { batchesShown, brokerLetter, type ClusterEye } from './cluster-eye.ts';
import type { BrokerFaults } from './cluster-faults.ts';
import { sequenceOf } from './producer-book.ts';
import type { BrokerView, LogBatchView, PartitionView } from './snapshot.ts';

interface Heard {
  leader: number | null;
  records: number;
  nextOffset: bigint;
  batches: LogBatchView[];
}

export interface KafkaEyeOptions {
  readonly events: SystemEventEmitter;
  readonly partitions: number;
  readonly sessionOf: (producerId: bigint) => number;
  /** The brokers, where they are the demo's own. */
  readonly ownBrokers: BrokerFaults | null;
}

/** What a client can know of a real Kafka: who was asked, and what was acknowledged. Nothing is asked of it for the page’s sake. */
export class KafkaEye implements ClusterEye {
  readonly kind = 'kafka';
  readonly #options: KafkaEyeOptions;
  readonly #heard: readonly Heard[];
  readonly #brokers = new Set<number>();

  constructor(options: KafkaEyeOptions) {
    this.#options = options;
    this.#heard = Array.from({ length: options.partitions }, () => ({
      leader: null,
      records: 0,
      nextOffset: -1n,
      batches: [],
    }));
    options.events.on('attempt-started', (attempt) => this.#asked(attempt));
    options.events.on('batch-settled', (batch) => {
      if (batch.fate === 'stored') this.#stored(batch, batch.baseOffset);
    });
    options.events.on('message-outcome', ({ partition, offset }) => this.#reaches(partition, offset + 1n));
  }

  get records(): number {
    return this.#heard.reduce((sum, { records }) => sum + records, 0);
  }

  brokers(): BrokerView[] {
    const { ownBrokers } = this.#options;
    if (ownBrokers !== null)
      return ownBrokers.brokerIds.map((brokerId) => ({
        broker: brokerLetter(brokerId),
        state: ownBrokers.stateOf(brokerId),
      }));
    return [...this.#brokers]
      .sort((one, other) => one - other)
      .map((brokerId) => ({ broker: brokerLetter(brokerId), state: 'unknown' }));
  }

  partitions(): PartitionView[] {
    return this.#heard.map(({ leader, records, nextOffset, batches }, partition) => ({
      partition,
      leader: leader === null ? null : brokerLetter(leader),
      leaderEpoch: null,
      replicas: [],
      records,
      nextOffset: nextOffset < 0n ? null : Number(nextOffset),
      batches: [...batches],
      notebook: null,
    }));
  }

  #asked({ partition, brokerId }: Attempt): void {
    this.#brokers.add(brokerId);
    const heard = this.#heard[partition];
    if (heard !== undefined) heard.leader = brokerId;
  }

  #stored(batch: BatchNumbers, baseOffset: bigint): void {
    const heard = this.#heard[batch.partition];
    if (heard === undefined) return;
    heard.records += batch.recordCount;
    // Stored, and no answer said where.
    if (baseOffset < 0n) return;
    const nextOffset = baseOffset + BigInt(batch.recordCount);
    const { producerId, epoch } = batch;
    const numbers = {
      session: this.#options.sessionOf(producerId),
      producerId: String(producerId),
      epoch,
      sequence: sequenceOf(batch),
    };
    const offsets = { first: Number(baseOffset), last: Number(nextOffset) - 1 };
    heard.batches = [...heard.batches, { offsets, numbers }].slice(-batchesShown);
    this.#reaches(batch.partition, nextOffset);
  }

  #reaches(partition: number, nextOffset: bigint): void {
    const heard = this.#heard[partition];
    if (heard !== undefined && nextOffset > heard.nextOffset) heard.nextOffset = nextOffset;
  }
}
