import { type CloseOptions, readSignal, readTimeoutMs, type SendOptions } from './call-options.ts';
import { ConfigError, DeliveryError, ProducerClosedError } from './errors.ts';
import { outsideCallers } from './outside-callers.ts';
import { PooledSend, type PooledSendOwner } from './pool/pooled-send.ts';
import { ProducerSlot } from './pool/producer-slot.ts';
import { TopicLine } from './pool/topic-line.ts';
import type { Producer } from './producer.ts';
import { checkRecord, type ProducerRecord, type RecordMetadata, refusalOf, shown } from './record.ts';
import { platformRuntime, type Runtime } from './runtime.ts';
import { CallbackDeadline, DeadlineQueue } from './sender/deadline-queue.ts';
import type { ProducerStats } from './stats.ts';

export interface ProducerPoolOptions {
  /** Makes one producer. Called `size` times at most, and again for one that stopped for good. */
  readonly create: () => Promise<Producer>;
  /** Producers to spread partitions over. Default 1, which is enough for most services. */
  readonly size?: number;
  /**
   * The longest a send waits in the pool, for its topic's metadata or for its producer to be made, in milliseconds. What it then
   * waits for inside the producer is bounded by that one's `maxBlockMs`. Default 60,000.
   */
  readonly maxBlockMs?: number;
  /** Clock and timers; the platform's by default (rule C17). */
  readonly runtime?: Runtime;
}

/**
 * Long-lived producers that a whole process shares (rule C16). Each partition has its producer, so that its order holds; no topic
 * and no producer holds up another's records.
 */
export interface ProducerPool extends AsyncDisposable {
  /**
   * As `producer.send`. Rejects also as `create` does, when the record's producer had to be made and could not be.
   */
  send(record: ProducerRecord, options?: SendOptions): Promise<RecordMetadata>;
  /** Makes the producers now, not at the first send: a service that can't reach its cluster should say so at its start. Rejects as `create` does. */
  start(): Promise<void>;
  /** As `producer.flush`, for all of them. Never rejects. */
  flush(): Promise<void>;
  /**
   * Takes no more records, settles those it has, closes the producers. `timeoutMs` bounds all of it; what is left rejects. Without it
   * what waits in the pool has its `maxBlockMs`, and each producer then its `deliveryTimeoutMs`.
   */
  close(options?: CloseOptions): Promise<void>;
  /** One entry for each producer made so far. */
  stats(): ProducerStats[];
}

const sizeMax = 64;
const optionNames = ['create', 'size', 'maxBlockMs', 'runtime'];

/**
 * A pool that makes its producers when they are first needed, and replaces one that was fenced.
 * @throws {ConfigError} naming the option that is wrong.
 */
export function createProducerPool(options: ProducerPoolOptions): ProducerPool {
  const unknown = Object.keys(options ?? {}).find((name) => !optionNames.includes(name));
  if (unknown !== undefined) {
    throw new ConfigError(
      `There is no option ${unknown}. Options of createProducerPool are ${optionNames.join(', ')}.`,
      [unknown],
    );
  }
  const { create, size = 1, maxBlockMs = 60_000, runtime = platformRuntime } = options ?? {};
  if (typeof create !== 'function') {
    throw new ConfigError(
      'Option create must be a function that makes a producer: { create: () => createProducer(…) }.',
      ['create'],
    );
  }
  if (!Number.isInteger(size) || size < 1 || size > sizeMax) {
    throw new ConfigError(`Option size must be a whole number from 1 to ${sizeMax}, not ${shown(size)}.`, ['size']);
  }
  if (typeof maxBlockMs !== 'number' || !(maxBlockMs >= 0)) {
    throw new ConfigError(`Option maxBlockMs must be milliseconds from 0, not ${shown(maxBlockMs)}.`, ['maxBlockMs']);
  }
  if (typeof runtime?.schedule !== 'function') {
    throw new ConfigError('Option runtime must be a Runtime, as that of createProducer.', ['runtime']);
  }
  return new SharedProducers(create, size, maxBlockMs, runtime);
}

class SharedProducers implements ProducerPool, PooledSendOwner {
  readonly #slots: readonly ProducerSlot[];
  readonly #maxBlockMs: number;
  readonly #runtime: Runtime;
  readonly #deadlines: DeadlineQueue;
  /** Topics whose partitions are asked for, and what waits for them: later sends to the topic must not pass those. */
  readonly #lines = new Map<string, TopicLine>();
  /** Every send that no producer has yet. */
  readonly #waiting = new Set<PooledSend>();
  #closing: Promise<void> | null = null;

  constructor(create: () => Promise<Producer>, size: number, maxBlockMs: number, runtime: Runtime) {
    this.#slots = Array.from({ length: size }, () => new ProducerSlot(create));
    this.#maxBlockMs = maxBlockMs;
    this.#runtime = runtime;
    this.#deadlines = new DeadlineQueue(runtime, outsideCallers);
  }

  send(record: ProducerRecord, options?: SendOptions): Promise<RecordMetadata> {
    let signal: AbortSignal | undefined;
    try {
      if (this.#closing !== null) throw new ProducerClosedError('The pool is closed. The record was not kept.');
      if (this.#slots.length === 1) {
        const only = this.#slots[0]!.ready;
        if (only !== null) return only.send(record, options);
      }
      signal = readSignal('send', options);
      signal?.throwIfAborted();
      return this.#send(record, signal);
    } catch (error) {
      return Promise.reject(refusalOf(error, signal));
    }
  }

  async start(): Promise<void> {
    if (this.#closing !== null) throw new ProducerClosedError('The pool is closed.');
    await Promise.all(this.#slots.map((slot) => slot.make()));
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#waiting].map((send) => send.left));
    await Promise.all(this.#slots.map((slot) => slot.made?.flush()));
  }

  close(options?: CloseOptions): Promise<void> {
    let timeoutMs: number | undefined;
    try {
      timeoutMs = readTimeoutMs(options);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#closing ??= outsideCallers(() => this.#close(timeoutMs));
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  stats(): ProducerStats[] {
    return this.#slots.flatMap(({ made }) => (made === null ? [] : [made.stats()]));
  }

  onLeft(send: PooledSend): void {
    this.#waiting.delete(send);
    this.#deadlines.remove(send);
  }

  onWaitedTooLong(send: PooledSend): void {
    const { waitsFor, timeoutCode } = send.place!;
    const { topic, partition = -1 } = send.record;
    send.fail(
      new DeliveryError(`The record waited maxBlockMs (${this.#maxBlockMs} ms) for ${waitsFor}. Nothing was sent.`, {
        code: timeoutCode,
        retriable: true,
        fate: 'not-stored',
        attempts: 0,
        topic,
        partition,
      }),
    );
  }

  #send(record: ProducerRecord, signal: AbortSignal | undefined): Promise<RecordMetadata> {
    const router = this.#router();
    if (router === null) checkRecord(record);
    const routed = router === null ? record : router.route(record, false);
    const { topic, partition } = routed;
    const line = this.#lines.get(topic);
    if (line === undefined && (partition !== undefined || this.#slots.length === 1)) {
      const slot = this.#slotOf(topic, partition);
      const owner = slot.ready;
      if (owner !== null) return owner.sendRouted(routed, signal);
      const send = this.#wait(routed, router !== null, signal);
      slot.take(send);
      return send.result;
    }
    const send = this.#wait(routed, router !== null, signal);
    if (line === undefined) this.#openLine(topic, send);
    else line.push(send);
    return send.result;
  }

  /** C14: as in a producer, a send that waits holds its own record, until `maxBlockMs` at the latest. */
  #wait(record: ProducerRecord, isRouted: boolean, signal: AbortSignal | undefined): PooledSend {
    const nowMs = this.#runtime.monotonicMs();
    const send = new PooledSend(record, isRouted, record.timestamp ?? this.#runtime.wallClockMs(), signal, this);
    this.#waiting.add(send);
    this.#deadlines.set(send, nowMs + this.#maxBlockMs);
    return send;
  }

  #openLine(topic: string, first: PooledSend): void {
    const line = new TopicLine(topic);
    line.push(first);
    this.#lines.set(topic, line);
    const passOn = (send: PooledSend): void => this.#slotOf(topic, send.record.partition).take(send);
    line.work(
      () => this.#router() ?? this.#makeRouter(),
      passOn,
      () => this.#lines.delete(topic),
    );
  }

  /** Any producer that is up can say where a record goes. */
  #router(): Producer | null {
    for (const slot of this.#slots) {
      const { up } = slot;
      if (up !== null) return up;
    }
    return null;
  }

  async #makeRouter(): Promise<Producer> {
    const making = this.#slots.map((slot) => slot.making).filter((producer) => producer !== null);
    if (making.length === 0) return await this.#slots[0]!.make();
    try {
      return await Promise.any(making);
    } catch (all) {
      throw (all as AggregateError).errors[0];
    }
  }

  #slotOf(topic: string, partition: number | undefined): ProducerSlot {
    const { length } = this.#slots;
    return this.#slots[length === 1 ? 0 : slotOf(topic, partition!, length)]!;
  }

  async #close(timeoutMs: number | undefined): Promise<void> {
    const startedAtMs = this.#runtime.monotonicMs();
    const underWay = [
      ...Array.from(this.#waiting, (send) => send.left),
      ...this.#slots.map((slot) => slot.making?.catch(() => {})),
    ].filter((work) => work !== undefined);
    if (underWay.length > 0) await this.#within(timeoutMs ?? this.#maxBlockMs, Promise.all(underWay));
    for (const send of this.#waiting) {
      const { topic, partition = -1 } = send.record;
      send.fail(
        new DeliveryError('The pool was closed before the record could be sent. It is certainly not stored.', {
          code: 'PRODUCER_CLOSED',
          fate: 'not-stored',
          attempts: 0,
          topic,
          partition,
        }),
      );
    }
    this.#deadlines.close();
    const tookMs = this.#runtime.monotonicMs() - startedAtMs;
    const left = timeoutMs === undefined ? undefined : { timeoutMs: Math.max(0, timeoutMs - tookMs) };
    const closed = await Promise.allSettled(this.#slots.map((slot) => slot.close(left)));
    const failure = closed.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }

  #within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const deadline = new CallbackDeadline(() => resolve());
      this.#deadlines.set(deadline, this.#runtime.monotonicMs() + timeoutMs);
      work.then(() => {
        this.#deadlines.remove(deadline);
        resolve();
      });
    });
  }
}

/** Spreads the partitions of all topics over the producers. */
function slotOf(topic: string, partition: number, size: number): number {
  let hash = partition;
  for (let index = 0; index < topic.length; index++) hash = (hash * 31 + topic.charCodeAt(index)) | 0;
  return (hash >>> 0) % size;
}
