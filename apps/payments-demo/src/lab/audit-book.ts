import type { MemoryCluster } from '@sendonce/transport-memory';
import type { SystemEventEmitter } from '../system/events.ts';

/** Payments with an unknown fate that are kept by name, so that they can be struck off when they are asked for again. */
const unknownKept = 10_000;

/** Counts what senders were told, and what brokers recognised. */
export class AuditBook {
  #accepted = 0;
  /** `null` where nobody outside the broker can see it. */
  #recognised: number | null;
  readonly #unknown = new Set<string>();
  readonly #stop: () => void;

  constructor(events: SystemEventEmitter, cluster: MemoryCluster | null) {
    events.on('payment-accepted', ({ paymentId, replayed }) => {
      if (!replayed) this.#accepted += 1;
      this.#unknown.delete(paymentId);
    });
    events.on('payment-failed', ({ paymentId, fate }) => {
      if (fate === 'unknown' && this.#unknown.size < unknownKept) this.#unknown.add(paymentId);
    });
    this.#recognised = cluster === null ? null : 0;
    this.#stop =
      cluster?.onEvent((event) => {
        if (event.type === 'batch-recognised') this.#recognised = (this.#recognised ?? 0) + event.recordCount;
      }) ?? (() => {});
  }

  get accepted(): number {
    return this.#accepted;
  }

  get unknown(): number {
    return this.#unknown.size;
  }

  get caughtByBroker(): number | null {
    return this.#recognised;
  }

  close(): void {
    this.#stop();
  }
}
