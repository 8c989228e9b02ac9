import type { ProducerBatch } from '../accumulator/batch.ts';
import type { BatchInfo, ProducerInfo } from './hooks.ts';

/** Shows hooks a batch without handing it to them. */
export class BatchView implements BatchInfo {
  readonly producer: ProducerInfo;
  readonly #batch: ProducerBatch;
  #sizeBytes: number;

  constructor(batch: ProducerBatch, producer: ProducerInfo) {
    this.#batch = batch;
    this.producer = producer;
    this.#sizeBytes = batch.bytes.length;
  }

  get topic(): string {
    return this.#batch.queue.topic.topic;
  }

  get partition(): number {
    return this.#batch.queue.partition;
  }

  get recordCount(): number {
    return this.#batch.recordCount;
  }

  /** Remembered: the bytes are given back before the last hook has asked. */
  get sizeBytes(): number {
    this.#sizeBytes ||= this.#batch.bytes.length;
    return this.#sizeBytes;
  }

  get createdAtMs(): number {
    return this.#batch.createdAtMs;
  }

  get producerId(): bigint {
    return this.#batch.producerId;
  }

  get epoch(): number {
    return this.#batch.epoch;
  }

  get baseSequence(): number {
    return this.#batch.baseSequence;
  }
}
