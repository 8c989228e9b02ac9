import type { BatchInfo, ProducerInfo } from '@sendonce/producer-core';

interface Position {
  readonly producerId: bigint;
  readonly epoch: number;
  readonly baseSequence: number;
  readonly baseOffset: bigint;
}

const halfOfSequences = 2 ** 30;
const sequences = 2 ** 31;

/** Where the newest acknowledged batch of each partition lies: one entry for each partition that a producer writes to. */
export class AcknowledgedPositions {
  readonly #producers = new WeakMap<ProducerInfo, Map<string, Position>>();

  note(batch: BatchInfo, baseOffset: bigint): void {
    if (batch.baseSequence < 0) return;
    let partitions = this.#producers.get(batch.producer);
    if (partitions === undefined) {
      partitions = new Map();
      this.#producers.set(batch.producer, partitions);
    }
    const { topic, partition, producerId, epoch, baseSequence } = batch;
    const name = `${partition} ${topic}`;
    const newest = partitions.get(name);
    if (newest !== undefined && isSameSession(newest, batch) && comesBefore(baseSequence, newest.baseSequence)) return;
    partitions.set(name, { producerId, epoch, baseSequence, baseOffset });
  }

  /** Whether a batch with later numbers was acknowledged at a later offset: then this one had been stored before that one. */
  isBehind(batch: BatchInfo, baseOffset: bigint): boolean {
    const newest = this.#producers.get(batch.producer)?.get(`${batch.partition} ${batch.topic}`);
    if (newest === undefined || baseOffset < 0n || !isSameSession(newest, batch)) return false;
    return comesBefore(batch.baseSequence, newest.baseSequence) && baseOffset < newest.baseOffset;
  }
}

function isSameSession(position: Position, { producerId, epoch }: BatchInfo): boolean {
  return position.producerId === producerId && position.epoch === epoch;
}

/** Sequence numbers wrap (rule C10). */
function comesBefore(sequence: number, other: number): boolean {
  const distance = (other - sequence + sequences) % sequences;
  return distance > 0 && distance < halfOfSequences;
}
