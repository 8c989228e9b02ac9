import type { Accumulator } from '../accumulator/accumulator.ts';
import type { ProducerBatch } from '../accumulator/batch.ts';
import type { DeliveryError, Fate } from '../errors.ts';
import type { Observer } from '../observe/observer.ts';
import type { Runtime } from '../runtime.ts';
import type { DeadlineQueue } from './deadline-queue.ts';
import type { SenderStats } from './sender-stats.ts';

export interface SettlementPorts {
  readonly deadlines: DeadlineQueue;
  readonly observer: Observer;
  readonly stats: SenderStats;
  readonly options: { readonly runtime: Runtime };
}

/** The end of a batch: its callers are told, once (C13), and what it held is given back. */
export class Settlement {
  readonly #ports: SettlementPorts;
  readonly #accumulator: () => Accumulator;

  constructor(ports: SettlementPorts, accumulator: () => Accumulator) {
    this.#ports = ports;
    this.#accumulator = accumulator;
  }

  /** Tells a batch's callers that it failed; or that it is stored, where a later one of its epoch proved that (C9). */
  end(batch: ProducerBatch, error: () => DeliveryError): void {
    if (batch.knownStored) this.acknowledge(batch, -1n);
    else this.#fail(batch, error());
  }

  /** -1n: no answer said where it is. */
  acknowledge(batch: ProducerBatch, baseOffset: bigint): void {
    const { observer, stats } = this.#ports;
    stats.recordsAcknowledged += batch.recordCount;
    this.#observe(batch, 'stored', baseOffset, null);
    const { topic, partition } = batch.queue;
    batch.acknowledge(
      { topic: topic.topic, partition, baseOffset, logAppendTimeMs: batch.logAppendTimeMs },
      observer.callbackFailed,
    );
    this.#giveBack(batch);
  }

  #fail(batch: ProducerBatch, error: DeliveryError): void {
    const { observer, stats } = this.#ports;
    if (error.fate === 'unknown') stats.recordsUnknown += batch.recordCount;
    else stats.recordsNotStored += batch.recordCount;
    this.#observe(batch, error.fate, -1n, error);
    const unheard = batch.reject(error, observer.callbackFailed);
    if (unheard > 0) observer.unheard(batch.queue.topic.topic, batch.queue.partition, unheard, error);
    this.#giveBack(batch);
  }

  #giveBack(batch: ProducerBatch): void {
    const accumulator = this.#accumulator();
    this.#ports.deadlines.remove(batch);
    accumulator.pendingRecords -= batch.recordCount;
    accumulator.flushes.leave(batch.flushGroup);
    this.releaseIfDone(batch);
  }

  /** Its bytes are needed while an attempt holds them, and while its partition may have to ask about it (C9). */
  releaseIfDone(batch: ProducerBatch): void {
    if (batch.attempt === null && (!batch.isTracked || batch.knownStored)) this.#accumulator().release(batch);
  }

  #observe(batch: ProducerBatch, fate: Fate, baseOffset: bigint, error: Error | null): void {
    const { observer, options } = this.#ports;
    if (!observer.watchesBatches) return;
    observer.batchSettled(batch, {
      fate,
      attempts: batch.attempts,
      createdAtMs: batch.createdAtMs,
      settledAtMs: options.runtime.monotonicMs(),
      baseOffset,
      error,
    });
  }
}
