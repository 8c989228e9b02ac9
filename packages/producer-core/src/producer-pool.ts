import type { CloseOptions, SendOptions } from './call-options.ts';
import { ConfigError, ProducerClosedError } from './errors.ts';
import type { Producer } from './producer.ts';
import type { ProducerRecord, RecordMetadata } from './record.ts';
import type { ProducerStats } from './stats.ts';

export interface ProducerPoolOptions {
  /** Makes one producer. Called `size` times at most, and again for one that stopped for good. */
  readonly create: () => Promise<Producer>;
  /** Producers to spread partitions over. Default 1, which is enough for most services. */
  readonly size?: number;
}

/** Long-lived producers that a whole process shares (rule C16). */
export interface ProducerPool extends AsyncDisposable {
  /** As `producer.send`. A partition always goes to the same producer, so its order holds. */
  send(record: ProducerRecord, options?: SendOptions): Promise<RecordMetadata>;
  /** Makes the producers now, not at the first send: a service that can't reach its cluster should say so at its start. Rejects as `create` does. */
  start(): Promise<void>;
  flush(): Promise<void>;
  close(options?: CloseOptions): Promise<void>;
  /** One entry for each producer made so far. */
  stats(): ProducerStats[];
}

const sizeMax = 64;

/**
 * A pool that makes its producers when they are first needed, and replaces one that was fenced.
 * @throws {ConfigError} naming the option that is wrong.
 */
export function createProducerPool(options: ProducerPoolOptions): ProducerPool {
  const unknown = Object.keys(options ?? {}).find((name) => name !== 'create' && name !== 'size');
  if (unknown !== undefined) {
    throw new ConfigError(`There is no option ${unknown}. Options of createProducerPool are create and size.`, [
      unknown,
    ]);
  }
  const { create, size = 1 } = options ?? {};
  if (typeof create !== 'function') {
    throw new ConfigError(
      'Option create must be a function that makes a producer: { create: () => createProducer(…) }.',
      ['create'],
    );
  }
  if (!Number.isInteger(size) || size < 1 || size > sizeMax) {
    throw new ConfigError(`Option size must be a whole number from 1 to ${sizeMax}, not ${String(size)}.`, ['size']);
  }
  return new SharedProducers(create, size);
}

class SharedProducers implements ProducerPool {
  readonly #create: () => Promise<Producer>;
  readonly #slots: (Promise<Producer> | null)[];
  /** Producers that are up, by slot: what lets a send go through without waiting a microtask. */
  readonly #up: (Producer | null)[];
  /** Sends on their way to a partition that is not known yet: later ones must not pass them. */
  #undecided = 0;
  #lastUndecided: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(create: () => Promise<Producer>, size: number) {
    this.#create = create;
    this.#slots = new Array(size).fill(null);
    this.#up = new Array(size).fill(null);
  }

  send(record: ProducerRecord, options?: SendOptions): Promise<RecordMetadata> {
    if (this.#isClosed) return Promise.reject(new ProducerClosedError('The pool is closed. The record was not kept.'));
    if (this.#undecided === 0) {
      const now = this.#sendNow(record, options);
      if (now !== null) return now;
    }
    return this.#sendInTurn(record, options);
  }

  start(): Promise<void> {
    if (this.#isClosed) return Promise.reject(new ProducerClosedError('The pool is closed.'));
    return this.#inTurn(async () => {
      for (const slot of this.#slots.keys()) await this.#producerAt(slot);
    });
  }

  async flush(): Promise<void> {
    await this.#lastUndecided;
    await Promise.all(this.#running().map(async (slot) => (await slot).flush()));
  }

  async close(options: CloseOptions = {}): Promise<void> {
    this.#isClosed = true;
    await this.#lastUndecided;
    await Promise.all(
      this.#running().map(async (slot) => {
        const producer = await slot.catch(() => null);
        await producer?.close(options);
      }),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  stats(): ProducerStats[] {
    return this.#up.filter((producer) => producer !== null).map((producer) => producer.stats());
  }

  #running(): Promise<Producer>[] {
    return this.#slots.filter((slot) => slot !== null);
  }

  /** Null when a producer or the partition is not known yet. */
  #sendNow(record: ProducerRecord, options: SendOptions | undefined): Promise<RecordMetadata> | null {
    const size = this.#slots.length;
    const router = this.#upAt(0);
    if (router === null) return null;
    if (size === 1) return router.send(record, options);
    let partition: number | Promise<number>;
    try {
      partition = router.partitionFor(record);
    } catch (error) {
      return Promise.reject(error);
    }
    if (typeof partition !== 'number') {
      partition.catch(() => {});
      return null;
    }
    const owner = this.#upAt(slotOf(record.topic, partition, size));
    return owner === null ? null : owner.send({ ...record, partition }, options);
  }

  #sendInTurn(record: ProducerRecord, options: SendOptions | undefined): Promise<RecordMetadata> {
    const handedOver = this.#inTurn(async () => {
      const router = await this.#producerAt(0);
      const size = this.#slots.length;
      if (size === 1) return { sending: router.send(record, options) };
      const partition = await router.partitionFor(record);
      const owner = await this.#producerAt(slotOf(record.topic, partition, size));
      return { sending: owner.send({ ...record, partition }, options) };
    });
    return handedOver.then(({ sending }) => sending);
  }

  /** One after the other, so that no slot's producer is made twice and no send passes an earlier one. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#undecided++;
    const done = this.#lastUndecided.then(work);
    const isDecided = (): void => {
      this.#undecided--;
    };
    this.#lastUndecided = done.then(isDecided, isDecided);
    return done;
  }

  #upAt(slot: number): Producer | null {
    const producer = this.#up[slot];
    return producer != null && producer.state === 'ready' ? producer : null;
  }

  /** Makes the slot's producer when there is none, or when the one it had has stopped. */
  async #producerAt(slot: number): Promise<Producer> {
    const running = this.#slots[slot];
    if (running != null) {
      const producer = await running.catch(() => null);
      if (producer !== null && producer.state === 'ready') return producer;
      if (producer !== null) await producer.close();
    }
    const made = this.#create();
    this.#slots[slot] = made;
    const producer = await made;
    this.#up[slot] = producer;
    return producer;
  }
}

/** Spreads the partitions of all topics over the producers. */
function slotOf(topic: string, partition: number, size: number): number {
  let hash = partition;
  for (let index = 0; index < topic.length; index++) hash = (hash * 31 + topic.charCodeAt(index)) | 0;
  return (hash >>> 0) % size;
}
