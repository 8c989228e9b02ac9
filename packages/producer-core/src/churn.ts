import type { Observer } from './observe/observer.ts';

/** Closed sooner than this after its creation, a producer counts as short-lived. */
const shortLifeMs = 60_000;
const windowMs = 300_000;
const warnAt = 10;

/**
 * Rule C16. Every producer leaves an entry in each partition it wrote to, on each replica, for a day; and each start asks for an
 * id. A process that makes one per request fills brokers' memory without noticing.
 */
export class ChurnWatch {
  #closedAtMs: number[] = [];
  #hasWarned = false;

  closed(createdAtMs: number, nowMs: number, observer: Observer): void {
    if (nowMs - createdAtMs > shortLifeMs || this.#hasWarned) return;
    this.#closedAtMs = this.#closedAtMs.filter((atMs) => nowMs - atMs <= windowMs);
    this.#closedAtMs.push(nowMs);
    const { length: producersCreated } = this.#closedAtMs;
    if (producersCreated < warnAt) return;
    this.#hasWarned = true;
    this.#closedAtMs = [];
    observer.event({ type: 'producer-churn', producersCreated, withinMs: windowMs });
    observer.warn(
      `This process created and closed ${producersCreated} producers within ${windowMs / 60_000} minutes. Each leaves entries in its brokers' memory ` +
        'for a day and starts a session in which repeats of the last one are not recognised. Share one: createProducerPool({ create: () => createProducer(…) }).',
      'SENDONCE_PRODUCER_CHURN',
    );
  }
}

/** One per process: that is what a warning "once" means. */
export const processChurn = new ChurnWatch();
