import type { MemoryCluster } from '@sendonce/transport-memory';
import type { SystemEvents } from '../system/events.ts';
import { paymentsPartitions, paymentsTopic } from '../system/payment.ts';
import type { PaymentSystem } from '../system/payment-system.ts';
import { Auditor } from './auditor.ts';
import type { ClusterEye } from './cluster-eye.ts';
import { type ClusterFaults, memoryFaults, noFaults } from './cluster-faults.ts';
import { type ControlAction, controls, lateMs, type Need, withoutNeed } from './controls.ts';
import { KafkaEye } from './kafka-eye.ts';
import { LabBooks } from './lab-books.ts';
import { type LabTimes, labBrokers, labFirstOffset, watchableTimes } from './lab-cluster.ts';
import { MemoryEye } from './memory-eye.ts';
import { Outages } from './outages.ts';
import { PaymentsAtHand } from './payments-at-hand.ts';
import type { ControlView, Snapshot } from './snapshot.ts';

export interface LabOptions {
  readonly system: PaymentSystem;
  /** The memory cluster the system runs on, made by `createLabCluster`; `null` on a real Kafka. */
  readonly cluster: MemoryCluster | null;
  /** What can be done to a real Kafka. Default: nothing. */
  readonly faults?: ClusterFaults;
  /** What the system was started with. */
  readonly times?: LabTimes;
}

/** A button can't be pressed; the message says why. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
}

const eventNames = [
  'payment-accepted',
  'payment-stored',
  'payment-failed',
  'producer-started',
  'producer-closed',
  'attempt-started',
  'attempt-ended',
  'batch-settled',
  'producer-event',
  'message-outcome',
  'payment-applied',
  'payment-refused',
  'notification-sent',
  'consumer-started',
  'consumer-crashed',
  'consumer-paused',
  'consumer-resumed',
] as const satisfies readonly (keyof SystemEvents)[];

/** One more than may be in flight. */
const delayedPayments = 6;
/** The one that gets lost, and some that would overtake it. */
const overtakenPayments = 3;
/** Some things change without an event, such as a follower that catches up: a last look after the last event shows them. */
const lastLookMs = 400;

/** A running payment system, to look into and to break. */
export class Lab {
  readonly #system: PaymentSystem;
  readonly #times: LabTimes;
  readonly #books: LabBooks;
  readonly #eye: ClusterEye;
  readonly #faults: ClusterFaults;
  readonly #payments: PaymentsAtHand;
  readonly #outages: Outages;
  readonly #auditor: Auditor;
  readonly #listeners = new Set<() => void>();
  readonly #stops: (() => void)[] = [];
  #lastLook: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor({ system, cluster, faults = noFaults, times = watchableTimes }: LabOptions) {
    const { events } = system;
    const changed = (): void => this.#changed();
    this.#system = system;
    this.#times = times;
    this.#books = new LabBooks(events, cluster);
    const sessionOf = (producerId: bigint): number => this.#books.producers.sessionOf(producerId);
    const of = { topic: paymentsTopic, partitions: paymentsPartitions, sessionOf };
    this.#faults = cluster === null ? faults : memoryFaults(cluster, paymentsTopic, labBrokers);
    this.#eye =
      cluster === null
        ? new KafkaEye({ events, ownBrokers: this.#faults.brokers, ...of })
        : new MemoryEye({ cluster, brokers: labBrokers, firstOffset: labFirstOffset, ...of });
    this.#payments = new PaymentsAtHand(system, changed);
    this.#outages = new Outages({
      system,
      faults: this.#faults.brokers,
      times,
      timeline: this.#books.timeline,
      onChange: changed,
    });
    this.#auditor = new Auditor({
      reconcile: () => system.reconcile(),
      isBusy: () => this.#isBusy,
      onChange: () => this.#tell(),
    });
    for (const name of eventNames) {
      events.on(name, changed);
      this.#stops.push(() => events.off(name, changed));
    }
    if (cluster !== null) this.#stops.push(cluster.onEvent(changed));
    // The system was running before anybody listened.
    this.#books.begin(system.producer.stats()?.producerId ?? null, system.consumerStates());
    this.#auditor.changed();
  }

  snapshot(): Snapshot {
    const partitions = this.#eye.partitions();
    const { audit, consumers, ledger, producers, timeline } = this.#books;
    return {
      cluster: this.#eye.kind,
      producers: producers.views(),
      brokers: this.#eye.brokers(),
      partitions,
      consumers: consumers.views((partition) => partitions[partition]?.nextOffset ?? null),
      ledger: { ...ledger.view(), sumMinor: this.#auditor.ledgerSumMinor },
      audit: {
        accepted: audit.accepted,
        unknown: audit.unknown,
        stored: this.#records,
        caughtByBroker: audit.caughtByBroker,
        caughtByKey: consumers.sentAgain('ledger'),
        readAgain: consumers.readAgain('ledger'),
        applied: ledger.payments,
        ...this.#auditor.verdict,
      },
      timeline: timeline.entries,
      controls: this.#controlViews(),
    };
  }

  /** Calls back whenever the snapshot may have changed. Returns how to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Does what a control stands for. Resolves when it has begun, not when all of it has happened.
   * @throws {ControlError} when it can't be pressed now, or is unknown.
   */
  async press(action: string): Promise<void> {
    const control = controls.find((each) => each.action === action);
    if (control === undefined) throw new ControlError('There is no such button.');
    const blocked = this.#blocked(control.action, control.needs);
    if (blocked !== null) throw new ControlError(blocked);
    await this.#do(control.action);
    this.#changed();
  }

  close(): void {
    this.#isClosed = true;
    this.#payments.stopStream();
    this.#outages.close();
    this.#auditor.close();
    for (const stop of this.#stops) stop();
    this.#books.close();
    if (this.#lastLook !== null) clearTimeout(this.#lastLook);
  }

  async #do(action: ControlAction): Promise<void> {
    const payments = this.#payments;
    const { requestTimeoutMs } = this.#times;
    switch (action) {
      case 'pay-one':
        return payments.send(1);
      case 'pay-hundred':
        return payments.send(100);
      case 'stream':
        return payments.toggleStream();
      case 'lose-reply':
        this.#faults.network?.loseNextReply();
        return this.#sendOne();
      case 'lose-request':
        void payments.sendApart(overtakenPayments + 1, 10, () => this.#faults.network?.loseNextRequest());
        return;
      case 'delay':
        void this.#delay(lateMs(requestTimeoutMs));
        return;
      case 'kill-leader':
        this.#outages.killLeader();
        return this.#sendOne();
      case 'freeze-leader':
        return this.#outages.freezeLeader(this.#sendTwo());
      case 'outlast-timeout':
        return this.#outages.freezeAll(this.#sendTwo());
      case 'restart-producer':
        return this.#outages.restartProducer();
      case 'resend':
        return payments.sendAgain();
      case 'crash-consumer':
        this.#outages.crashConsumer();
        return this.#sendOne();
    }
  }

  /** The first payment opens the connection on which the second one leaves. Resolves in between. */
  #sendTwo(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#payments.sendApart(2, 0, resolve);
    return promise;
  }

  async #delay(byMs: number): Promise<void> {
    let stop = (): void => {};
    await this.#payments.sendApart(delayedPayments + 1, 10, () => {
      stop = this.#faults.network?.delayReplies(delayedPayments, byMs) ?? stop;
    });
    // Some may have shared a batch: what is left over must not hit somebody else.
    stop();
  }

  /** So that something happens at once. A stream does that by itself. */
  #sendOne(): void {
    if (!this.#payments.isStreaming) this.#payments.send(1);
  }

  #controlViews(): ControlView[] {
    return controls.map(({ action, label, group, needs, expect }) => ({
      action,
      label: action === 'stream' && this.#payments.isStreaming ? 'Stop the stream' : label,
      group,
      expect: expect(this.#times),
      blocked: this.#blocked(action, needs),
      on: action === 'stream' ? this.#payments.isStreaming : null,
    }));
  }

  #blocked(action: ControlAction, needs: Need | null): string | null {
    if ((needs === 'network' || needs === 'brokers') && this.#faults[needs] === null) return withoutNeed[needs];
    if (needs === 'consumers' && this.#system.consumerStates().ledger === 'stopped') return withoutNeed.consumers;
    if (needs === 'brokers') return this.#outages.ofBrokers;
    if (action === 'crash-consumer') return this.#outages.ofConsumer;
    if (action === 'restart-producer') return this.#outages.ofProducer;
    if (action === 'resend' && !this.#payments.hasSent) return 'Send a payment first.';
    return null;
  }

  get #isBusy(): boolean {
    const { isStreaming, waiting } = this.#payments;
    const isElsewhere = this.#system.consumerStates().ledger === 'stopped';
    const isBehind = !isElsewhere && this.#books.consumers.recordsDone('ledger') < this.#records;
    return isStreaming || waiting > 0 || isBehind;
  }

  /** From outside, records that were stored without an answer are known only when they are read. */
  get #records(): number {
    return Math.max(this.#eye.records, this.#books.consumers.recordsDone('ledger'));
  }

  #changed(): void {
    this.#auditor.changed();
    this.#tell();
  }

  #tell(): void {
    if (this.#isClosed) return;
    for (const listener of this.#listeners) listener();
    this.#lastLook ??= setTimeout(() => {
      this.#lastLook = null;
      for (const listener of this.#listeners) listener();
    }, lastLookMs);
  }
}
