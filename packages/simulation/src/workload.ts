import type { ProducerRecord } from '@sendonce/producer-core';
import { Dice } from './dice.ts';
import type { LedgerEntry } from './ledger.ts';
import type { WorkloadPlan } from './plan.ts';
import { ProducerSession } from './session.ts';
import { pause, type World } from './world.ts';

/** Runs stay short: what a fault does to a producer shows within a few hundred records. */
const recordsMax = 400;

/** Key, explicit partition, or neither: how an application addresses its records. */
const addressings = ['partition', 'partition', 'key', 'none', 'mixed'] as const;

/** One application process: sends in bursts, idles, flushes, closes, crashes and comes back with a new producer. */
export class Workload {
  readonly #world: World;
  readonly #plan: WorkloadPlan;
  readonly #dice: Dice;
  readonly #addressing: (typeof addressings)[number];
  #session: ProducerSession | null = null;
  #records = 0;

  constructor(world: World, plan: WorkloadPlan, index: number) {
    this.#world = world;
    this.#plan = plan;
    const stream = world.runtime.fork(`workload ${index}`);
    this.#dice = new Dice(() => stream.random());
    this.#addressing = this.#dice.pick(addressings);
  }

  /** The producer in use; null while none came up. */
  get session(): ProducerSession | null {
    return this.#session;
  }

  /** When its process runs again, where it is frozen. */
  get frozenUntilMs(): number {
    return this.#session?.session.frozenUntilMs ?? 0;
  }

  async run(untilMs: number): Promise<void> {
    const { runtime } = this.#world;
    while (runtime.monotonicMs() < untilMs && this.#records < recordsMax) {
      const session = await this.#usableSession();
      if (session !== null) {
        this.#burst(session);
        await this.#between(session);
      }
      await pause(this.#world, this.#dice.gapMs(this.#plan.gapMs));
    }
  }

  /** The session, or a new one where it is over. */
  async #usableSession(): Promise<ProducerSession | null> {
    if (this.#session?.isOver === true) {
      if (!this.#session.process.isKilled) await this.#session.close();
      this.#session = null;
    }
    this.#session ??= await ProducerSession.open(this.#world, this.#plan.producer);
    return this.#session;
  }

  #burst(session: ProducerSession): void {
    const count = Math.min(this.#dice.int(1, this.#plan.burstMax), recordsMax - this.#records);
    const { topics } = this.#world.plan.cluster;
    if (this.#dice.chance(0.2)) {
      const { name } = this.#dice.pick(topics);
      const entries = Array.from({ length: count }, () => this.#open(session, name));
      session.sendBatch(
        entries.map((entry) => this.#record(entry)),
        entries,
      );
      return;
    }
    const enqueues = this.#dice.chance(0.4);
    for (let index = 0; index < count; index++) {
      const entry = this.#open(session, this.#dice.pick(topics).name);
      const record = this.#record(entry);
      if (enqueues) {
        if (!session.enqueue(record, entry)) this.#world.coverage.add('workload: enqueue had no room');
      } else session.send(record, entry, this.#dice.chance(0.02) ? this.#abortSoon() : undefined);
    }
  }

  /** What else an application does, now and then. */
  async #between(session: ProducerSession): Promise<void> {
    const { coverage } = this.#world;
    const { flush, restart, crash, freeze, idle, producer } = this.#plan;
    if (this.#dice.chance(flush)) {
      coverage.add('workload: flush');
      const flushed = session.producer.flush();
      if (this.#dice.chance(0.5)) await flushed;
    }
    if (this.#dice.chance(restart)) {
      coverage.add('workload: close');
      const closed = session.close(this.#dice.chance(0.5) ? this.#dice.int(0, 500) : undefined);
      if (this.#dice.chance(0.5)) await closed;
    } else if (this.#dice.chance(crash)) {
      session.crash();
    } else if (this.#dice.chance(freeze)) {
      coverage.add('workload: freeze');
      session.freeze(this.#dice.scale(10, 2 * producer.deliveryTimeoutMs));
    } else if (this.#dice.chance(idle)) {
      coverage.add('workload: idle');
      await pause(this.#world, this.#dice.scale(10, 2 * this.#idleMaxMs()));
    }
  }

  /** Past the delivery timeout, and past the broker's memory where that is short. */
  #idleMaxMs(): number {
    const { producerIdExpirationMs } = this.#world.plan.cluster;
    return producerIdExpirationMs > 1_000_000 ? this.#plan.producer.deliveryTimeoutMs : producerIdExpirationMs;
  }

  #open(session: ProducerSession, topic: string): LedgerEntry {
    this.#records++;
    return this.#world.ledger.open(session.session, topic, this.#dice.int(10, this.#plan.valueBytesMax));
  }

  #record({ topic, value }: LedgerEntry): ProducerRecord {
    const addressing = this.#addressing === 'mixed' ? this.#dice.pick(addressings.slice(0, 4)) : this.#addressing;
    if (addressing === 'none') return { topic, value };
    if (addressing === 'key') return { topic, value, key: `key ${this.#dice.int(0, 9)}` };
    const partitions = Math.max(1, this.#world.topics.partitionsOf(topic));
    return { topic, value, partition: this.#dice.int(0, partitions - 1) };
  }

  #abortSoon(): AbortSignal {
    const controller = new AbortController();
    this.#world.coverage.add('workload: abort');
    this.#world.runtime.schedule(this.#dice.int(0, 100), () => controller.abort());
    return controller.signal;
  }
}
