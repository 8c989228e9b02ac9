import type { CloseOptions } from '../call-options.ts';
import { ConfigError } from '../errors.ts';
import { Producer } from '../producer.ts';
import { kindOf } from '../record.ts';
import type { PooledSend, WaitingPlace } from './pooled-send.ts';

/** The place of one producer: empty, in the making, or taken; a producer that stopped for good is replaced when the next send comes. */
export class ProducerSlot implements WaitingPlace {
  readonly waitsFor = 'a producer to be made';
  readonly timeoutCode = 'NO_PRODUCER';
  readonly #create: () => Promise<Producer>;
  /** In the order of the calls. Empty while the producer is ready: nothing may pass what waits. */
  readonly #waiting = new Set<PooledSend>();
  #made: Producer | null = null;
  #making: Promise<Producer> | null = null;
  #isClosed = false;

  constructor(create: () => Promise<Producer>) {
    this.#create = create;
  }

  /** The producer, if it takes records. */
  get up(): Producer | null {
    return this.#made !== null && this.#made.state === 'ready' ? this.#made : null;
  }

  /** The producer, if it takes records and none has to go first. */
  get ready(): Producer | null {
    return this.#waiting.size === 0 ? this.up : null;
  }

  /** The last producer made, whatever its state. */
  get made(): Producer | null {
    return this.#made;
  }

  get making(): Promise<Producer> | null {
    return this.#making;
  }

  /** Makes the producer when there is none that takes records. Rejects as `create` does; the next call tries again. */
  make(): Promise<Producer> {
    const { up } = this;
    if (up !== null) return Promise.resolve(up);
    this.#making ??= this.#replace().then(
      (producer) => {
        this.#made = producer;
        this.#making = null;
        this.#handOver(producer);
        return producer;
      },
      (error: unknown) => {
        this.#making = null;
        for (const send of this.#waiting) send.fail(error);
        throw error;
      },
    );
    return this.#making;
  }

  /** The send goes to this slot's producer, when there is one. */
  take(send: PooledSend): void {
    const { ready } = this;
    if (ready !== null) {
      send.handTo(ready);
      return;
    }
    this.#waiting.add(send);
    send.place = this;
    // Those that wait are told of a failure.
    if (this.up === null) this.make().catch(() => {});
  }

  forget(send: PooledSend): void {
    this.#waiting.delete(send);
  }

  /** Closes the producer; one that is still in the making as soon as it is there. */
  async close(options: CloseOptions | undefined): Promise<void> {
    this.#isClosed = true;
    await this.#made?.close(options);
  }

  #handOver(producer: Producer): void {
    for (const send of this.#waiting) send.handTo(producer);
    if (this.#isClosed) producer.close({ timeoutMs: 0 }).catch(() => {});
  }

  async #replace(): Promise<Producer> {
    await this.#made?.close();
    const producer: unknown = await this.#create();
    const isProducer = producer instanceof Producer;
    if (isProducer && producer.state === 'ready') return producer;
    const given = isProducer ? `one that is ${producer.state}` : kindOf(producer);
    throw new ConfigError(`Option create must resolve with a new producer of createProducer, not with ${given}.`, [
      'create',
    ]);
  }
}
