import { setTimeout } from 'node:timers/promises';
import type { PaymentSystem } from '../system/payment-system.ts';
import type { BrokerFaults } from './cluster-faults.ts';
import type { LabTimes } from './lab-cluster.ts';
import type { Timeline } from './timeline.ts';

export interface OutagesOptions {
  readonly system: PaymentSystem;
  readonly faults: BrokerFaults | null;
  readonly times: LabTimes;
  readonly timeline: Timeline;
  readonly onChange: () => void;
}

/** Takes parts of the system down, and brings them back by itself. Of each kind one at a time: what remains can always go on. */
export class Outages {
  readonly #options: OutagesOptions;
  readonly #closing = new AbortController();
  #brokers: string | null = null;
  #consumer: string | null = null;
  #producer: string | null = null;

  constructor(options: OutagesOptions) {
    this.#options = options;
  }

  /** Why no other broker may be taken down now. */
  get ofBrokers(): string | null {
    return this.#brokers;
  }

  get ofConsumer(): string | null {
    return this.#consumer;
  }

  get ofProducer(): string | null {
    return this.#producer;
  }

  killLeader(): void {
    const { faults, times } = this.#options;
    if (faults === null) return;
    this.#brokers = 'A broker dies with the next batch, and is down for a while. Wait until it is back.';
    void this.#during('brokers', async () => {
      const brokerId = await faults.killAtNextBatch();
      await this.#wait(times.outageMs);
      await faults.restart(brokerId);
    });
  }

  /** @param isConnected Resolves when the next batch leaves on a connection that is open already: it shall wait inside the frozen broker. */
  freezeLeader(isConnected: Promise<void>): void {
    const { faults, times } = this.#options;
    if (faults === null) return;
    this.#brokers = 'A broker is frozen. Wait until it has woken up.';
    void this.#during('brokers', async () => {
      await isConnected;
      const brokerId = await this.#atNextBatch((leader) => faults.freeze(leader));
      await this.#wait(times.outageMs);
      faults.resume(brokerId);
    });
  }

  /**
   * Longer than any payment may take, and when one has left: what was never sent would be known not to be stored.
   * @param isConnected As above.
   */
  freezeAll(isConnected: Promise<void>): void {
    const { faults, times } = this.#options;
    if (faults === null) return;
    this.#brokers = 'All brokers are frozen. Wait until they have woken up.';
    void this.#during('brokers', async () => {
      await isConnected;
      await this.#atNextBatch(() => {
        for (const brokerId of faults.brokerIds) faults.freeze(brokerId);
      });
      await this.#wait(times.deliveryTimeoutMs + times.requestTimeoutMs);
      for (const brokerId of faults.brokerIds) faults.resume(brokerId);
    });
  }

  crashConsumer(): void {
    const { system, times } = this.#options;
    this.#consumer = 'The consumer dies at the next payment, and is down for a moment.';
    void this.#during('consumer', async () => {
      await system.crashConsumer();
      await this.#wait(times.outageMs / 2);
      await system.restartConsumer();
    });
  }

  async restartProducer(): Promise<void> {
    this.#producer = 'It is starting again.';
    await this.#during('producer', () => this.#options.system.producer.restartProducer());
  }

  close(): void {
    this.#closing.abort();
  }

  async #during(what: 'brokers' | 'consumer' | 'producer', outage: () => Promise<void>): Promise<void> {
    const { timeline, onChange } = this.#options;
    try {
      await outage();
    } catch (error) {
      if (!this.#closing.signal.aborted) timeline.tell('bad', `that did not work: ${(error as Error).message}`);
    } finally {
      if (what === 'brokers') this.#brokers = null;
      else if (what === 'consumer') this.#consumer = null;
      else this.#producer = null;
      onChange();
    }
  }

  /** Acts as soon as the next batch leaves, before it can be answered. Resolves with the broker that it was sent to. */
  #atNextBatch(act: (leader: number) => void): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#options.system.events.once('attempt-started', ({ brokerId }) => {
        try {
          act(brokerId);
          resolve(brokerId);
        } catch (error) {
          reject(error as Error);
        }
      }),
    );
  }

  /** Rejects when the lab is closed. */
  #wait(durationMs: number): Promise<void> {
    return setTimeout(durationMs, undefined, { signal: this.#closing.signal });
  }
}
