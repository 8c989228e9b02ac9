import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { recordOf } from './kafka-read-all.ts';
import type { GroupMember, RecordHandler } from './payments-cluster.ts';

export interface KafkaMemberOptions {
  readonly groupId: string;
  readonly topic: string;
  readonly handle: RecordHandler;
  /** The consumer crashed, and is started again. */
  readonly onProblem: (error: Error) => void;
}

/** A member that was killed is missed after this long; then others get its partitions. */
const sessionTimeoutMs = 10_000;
const heartbeatIntervalMs = 1_000;
/** How long the group waits for members to come back to a rebalance. */
const rebalanceTimeoutMs = 15_000;
const restartPauseMs = 500;
const fetchWaitMs = 200;
const partitionsAtOnce = 3;
/** Records between two commits, at most: what is read again after a crash. */
const recordsPerCommit = 100;

/**
 * A consumer in a group that commits only what was dealt with, and that comes back after whatever happens to its brokers: a crashed
 * kafkajs consumer is replaced by a new one.
 */
export class KafkaMember implements GroupMember {
  readonly #kafka: Kafka;
  readonly #options: KafkaMemberOptions;
  readonly #closing = new AbortController();
  /** The handler rejected: this member is dead, and commits nothing more. */
  readonly #dying = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  private constructor(kafka: Kafka, options: KafkaMemberOptions) {
    this.#kafka = kafka;
    this.#options = options;
  }

  /** Rejects when no broker answers. */
  static async join(kafka: Kafka, options: KafkaMemberOptions): Promise<KafkaMember> {
    const member = new KafkaMember(kafka, options);
    const consumer = await member.#connect();
    member.#ended = member.#live(consumer);
    return member;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#ended;
  }

  get #isOver(): boolean {
    return this.#closing.signal.aborted || this.#dying.signal.aborted;
  }

  /** One consumer after the other, until the member is closed or dead. Never rejects. */
  async #live(first: Consumer): Promise<void> {
    let consumer: Consumer | null = first;
    while (!this.#isOver) {
      try {
        consumer ??= await this.#connect();
        await this.#consume(consumer);
      } catch (error) {
        this.#options.onProblem(error as Error);
      }
      await consumer?.disconnect().catch(() => undefined);
      consumer = null;
      if (!this.#isOver) {
        await sleep(restartPauseMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      }
    }
    await consumer?.disconnect().catch(() => undefined);
  }

  async #connect(): Promise<Consumer> {
    const { groupId, topic } = this.#options;
    const consumer = this.#kafka.consumer({
      groupId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      maxWaitTimeInMs: fetchWaitMs,
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      return consumer;
    } catch (error) {
      await consumer.disconnect().catch(() => undefined);
      throw error;
    }
  }

  /** Resolves when the member is over; rejects when the consumer crashed. */
  async #consume(consumer: Consumer): Promise<void> {
    const crashed = Promise.withResolvers<never>();
    crashed.promise.catch(() => undefined);
    consumer.on(consumer.events.CRASH, ({ payload }) => crashed.reject(payload.error));
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: partitionsAtOnce,
      eachBatch: (payload) => this.#work(consumer, payload),
    });
    await Promise.race([crashed.promise, aborted(this.#closing.signal), aborted(this.#dying.signal)]);
  }

  async #work(consumer: Consumer, { batch, resolveOffset, heartbeat, isRunning }: EachBatchPayload): Promise<void> {
    const { topic, partition, messages } = batch;
    let rebalance: unknown;
    const inHand = {
      signal: this.#closing.signal,
      heartbeat: async (): Promise<void> => {
        try {
          await heartbeat();
        } catch (error) {
          rebalance = error;
          throw error;
        }
      },
    };
    let next: string | null = null;
    const commit = async (): Promise<void> => {
      if (next !== null) await consumer.commitOffsets([{ topic, partition, offset: next }]);
      next = null;
    };
    for (const [index, message] of messages.entries()) {
      if (this.#isOver || !isRunning()) break;
      try {
        await this.#options.handle(recordOf(topic, partition, message), inHand);
      } catch (error) {
        // Closing: what was done before this record is committed below. Else this is a death, which commits nothing.
        if (this.#closing.signal.aborted) break;
        // The partition may be another member's by now: kafkajs joins the group again.
        if (error !== rebalance) this.#dying.abort();
        throw error;
      }
      resolveOffset(message.offset);
      next = String(BigInt(message.offset) + 1n);
      if ((index + 1) % recordsPerCommit === 0) await commit();
      await heartbeat();
    }
    if (!this.#dying.signal.aborted) await commit();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
