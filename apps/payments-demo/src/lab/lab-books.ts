import type { MemoryCluster } from '@sendonce/transport-memory';
import type { SystemEventEmitter } from '../system/events.ts';
import type { PaymentSystem } from '../system/payment-system.ts';
import { AuditBook } from './audit-book.ts';
import { BatchStories } from './batch-stories.ts';
import { tellClusterStories } from './cluster-stories.ts';
import { ConsumerBook, LedgerBook } from './consumer-book.ts';
import { ProducerBook } from './producer-book.ts';
import { SystemStories } from './system-stories.ts';
import { Timeline } from './timeline.ts';

/** Everything that is noted while a system runs, from its events alone. */
export class LabBooks {
  readonly producers: ProducerBook;
  readonly consumers: ConsumerBook;
  readonly ledger: LedgerBook;
  readonly audit: AuditBook;
  readonly timeline = new Timeline();
  readonly #stop: () => void;

  /** @param cluster The memory cluster, where there is one to look into. */
  constructor(events: SystemEventEmitter, cluster: MemoryCluster | null) {
    this.producers = new ProducerBook(events);
    this.consumers = new ConsumerBook(events);
    this.ledger = new LedgerBook(events);
    this.audit = new AuditBook(events, cluster);
    const batches = new BatchStories(this.timeline);
    const told = { timeline: this.timeline, batches, consumers: this.consumers };
    this.#stop = cluster === null ? () => {} : tellClusterStories(cluster, events, told);
    new SystemStories(events, told);
  }

  /** What was there before anybody listened. */
  begin(producerId: bigint | null, consumers: ReturnType<PaymentSystem['consumerStates']>): void {
    if (producerId !== null) {
      this.producers.begin(producerId);
      this.timeline.tell('note', `a producer starts: id ${producerId}, epoch 0`);
    }
    for (const name of ['ledger', 'notifications'] as const)
      if (consumers[name] === 'running') this.consumers.begin(name);
  }

  close(): void {
    this.#stop();
    this.audit.close();
  }
}
