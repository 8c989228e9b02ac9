import { createProducer, DeliveryError, type Producer, type ProducerRecord } from '@sendonce/producer-core';
import { createSimulatedRuntime, type SimulatedRuntime } from '@sendonce/producer-core/testing';
import { createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import { payment, payments, topic } from '../../scenes/payments.ts';
import { produceRaw } from '../../scenes/raw-produce.ts';
import { createSystemEvents, type SystemEventEmitter } from '../../system/events.ts';
import { producerEvents } from '../../system/produce/producer-events.ts';
import { LabBooks } from '../lab-books.ts';
import { MemoryEye } from '../memory-eye.ts';
import type { AuditView, Snapshot } from '../snapshot.ts';
import type { LessonFrame } from './lesson-frame.ts';
import { LessonLedger } from './lesson-ledger.ts';

const brokers = 3;
const partitions = 3;
/** The worked example's numbers. */
const firstOffset = 900;
const firstProducerId = 5001;
/** Time on the way: short, and long enough to look at. */
const latencyMs = 5;
const requestTimeoutMs = 1_000;
const deliveryTimeoutMs = 5_000;

/** A system of its own for one look at the lesson: real producer, broker and de-duplication on virtual time, so that each run is the same. */
export class LessonRun {
  readonly runtime: SimulatedRuntime = createSimulatedRuntime({ seed: 1, ties: 'fifo' });
  readonly cluster: MemoryCluster;
  frames: LessonFrame[] = [];
  readonly #events: SystemEventEmitter = createSystemEvents();
  readonly #books: LabBooks;
  readonly #eye: MemoryEye;
  #producer: Producer | null = null;
  #ledger: LessonLedger | null = null;

  constructor() {
    this.cluster = createMemoryCluster({
      runtime: this.runtime,
      brokers,
      topics: { [topic]: { partitions, replicationFactor: brokers, minInsyncReplicas: 2, firstOffset } },
      firstProducerId,
      producerIdBlockSize: 1,
      latencyMs,
      replicationDelayMs: latencyMs,
    });
    this.#books = new LabBooks(this.#events, this.cluster);
    this.#eye = new MemoryEye({
      cluster: this.cluster,
      topic,
      brokers,
      partitions,
      firstOffset,
      sessionOf: (producerId) => this.#books.producers.sessionOf(producerId),
    });
  }

  /** Adds a moment to what is shown. */
  show(caption: string): void {
    this.frames.push({ caption, snapshot: this.#snapshot() });
  }

  pass(durationMs: number): Promise<void> {
    return this.runtime.advance(durationMs);
  }

  /** Starts the service; for the second time as after a crash: what it knew is gone. */
  async startService(): Promise<void> {
    const old = this.#producer;
    if (old !== null) await this.runtime.runUntilSettled(old.close());
    const starting = createProducer({
      transport: this.cluster.transport(),
      runtime: this.runtime,
      clientId: 'payment-service',
      requestTimeoutMs,
      deliveryTimeoutMs,
      // Batches that wait for the broker's answer would hardly ever be five on their way.
      lingerMs: 0,
      logger: { info: () => {}, warn: () => {} },
      hooks: producerEvents(this.#events),
    });
    this.#producer = await this.runtime.runUntilSettled(starting);
  }

  /** Hands payments `first` to `last` to the producer as one batch; they leave when time passes. */
  send(first: number, last = first): void {
    this.#sendAll(payments(first, last));
  }

  /** A payment beside the worked example, for another partition. */
  sendAside(partition: number, number: number): void {
    this.#sendAll([aside(partition, number)]);
  }

  /** A request written by hand, past every rule that the producer keeps: what a broken client would send. */
  async sendByHand(
    partition: number,
    numbers: { readonly epoch: number; readonly baseSequence: number },
  ): Promise<void> {
    const transport = this.cluster.transport();
    const producerId = BigInt(firstProducerId);
    await this.runtime.runUntilSettled(
      transport
        .connect()
        .then(() => produceRaw(transport, { producerId, ...numbers }, aside(partition, numbers.baseSequence)))
        .then(() => transport.close()),
    );
  }

  /** The consumer reads all there is, and applies it. */
  async consume(): Promise<void> {
    this.#ledger = new LessonLedger(this.cluster, this.#events);
    await this.#ledger.readAll(this.#eye.records);
  }

  #sendAll(records: readonly ProducerRecord[]): void {
    for (const record of records) {
      const paymentId = String(record.headers?.['idempotency-key' as never]);
      const of = { paymentId, key: paymentId };
      this.#producer!.enqueue(record, (error, place) => {
        if (place !== null) {
          this.#events.emit('payment-stored', { ...of, topic, partition: place.partition, offset: place.offset });
          this.#events.emit('payment-accepted', { ...of, replayed: false });
        } else if (error instanceof DeliveryError)
          this.#events.emit('payment-failed', { ...of, fate: error.fate, reason: error.message });
      });
    }
  }

  #snapshot(): Snapshot {
    const partitionViews = this.#eye.partitions();
    const books = this.#books;
    return {
      cluster: 'memory',
      producers: books.producers.views(),
      brokers: this.#eye.brokers(),
      partitions: partitionViews,
      consumers: books.consumers.views((partition) => partitionViews[partition]?.nextOffset ?? null),
      ledger: books.ledger.view(),
      audit: this.#audit(),
      timeline: books.timeline.entries,
      controls: [],
    };
  }

  #audit(): AuditView {
    const { audit, consumers, ledger } = this.#books;
    const stored = this.#eye.records;
    const caughtByKey = consumers.sentAgain('ledger');
    const counts = {
      accepted: audit.accepted,
      unknown: audit.unknown,
      stored,
      caughtByBroker: audit.caughtByBroker,
      caughtByKey,
      readAgain: consumers.readAgain('ledger'),
      applied: ledger.payments,
    };
    if (this.#ledger === null)
      return { ...counts, verdict: 'waiting', verdictText: 'The consumer starts in the last step.' };
    const isBalanced = stored === ledger.payments + caughtByKey && ledger.view().sumMinor === 0;
    return {
      ...counts,
      verdict: isBalanced ? 'balanced' : 'differs',
      verdictText: isBalanced
        ? 'Every payment in the log is applied exactly once, and the ledger’s sum is zero.'
        : 'The ledger does not hold what the log holds.',
    };
  }
}

function aside(partition: number, number: number): ProducerRecord {
  const paymentId = `payment-${partition}-${number}`;
  return { ...payment(number, partition), headers: { 'idempotency-key': paymentId } };
}
