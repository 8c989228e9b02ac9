import type { Runtime } from '../runtime.ts';
import { CallbackDeadline, type DeadlineQueue } from '../sender/deadline-queue.ts';
import { backoffMs, type RetryPolicyOptions } from '../sender/retry-policy.ts';
import type { ClusterMetadata, Transport } from '../transport/transport.ts';

export interface MetadataListener {
  /** Takes an answer; returns the topics to ask about again after a pause. */
  onMetadata(metadata: ClusterMetadata): readonly string[];
  onMetadataFailed(error: Error, topics: readonly string[]): void;
  /** Every topic in use, for the refresh by age. */
  knownTopics(): readonly string[];
}

export interface MetadataRefresherOptions extends RetryPolicyOptions {
  readonly metadataMaxAgeMs: number;
}

/** Asks for metadata: one request at a time, for everything wanted meanwhile together, with a pause after failures. */
export class MetadataRefresher {
  readonly #transport: Transport;
  readonly #runtime: Runtime;
  readonly #deadlines: DeadlineQueue;
  readonly #options: MetadataRefresherOptions;
  readonly #listener: MetadataListener;
  readonly #wanted = new Set<string>();
  readonly #next = new CallbackDeadline(() => this.#ask());
  #isAsking = false;
  #closed = false;
  #failures = 0;
  #lastAskedAtMs = Number.NEGATIVE_INFINITY;
  #refreshedAllAtMs: number;

  constructor(
    transport: Transport,
    runtime: Runtime,
    deadlines: DeadlineQueue,
    options: MetadataRefresherOptions,
    listener: MetadataListener,
  ) {
    this.#transport = transport;
    this.#runtime = runtime;
    this.#deadlines = deadlines;
    this.#options = options;
    this.#listener = listener;
    this.#refreshedAllAtMs = runtime.monotonicMs();
  }

  /** Asks about a topic: at once for the first time, else a pause after the last question, or leader errors become a storm. */
  want(topic: string, isFirst = false): void {
    if (this.#closed) return;
    this.#wanted.add(topic);
    if (!this.#isAsking) this.#scheduleAsk(isFirst && this.#failures === 0 ? 0 : this.#options.retryBackoffMs);
  }

  /**
   * Asks about every topic when the last time is `metadataMaxAgeMs` ago. Called while requests go out, and not by a timer: a
   * producer that has nothing to send asks nothing, and keeps no process alive.
   */
  refreshIfOld(nowMs: number): void {
    if (this.#closed || nowMs - this.#refreshedAllAtMs < this.#options.metadataMaxAgeMs) return;
    this.#refreshedAllAtMs = nowMs;
    for (const topic of this.#listener.knownTopics()) this.#wanted.add(topic);
    if (this.#wanted.size > 0 && !this.#isAsking) this.#scheduleAsk(0);
  }

  close(): void {
    this.#closed = true;
    this.#deadlines.remove(this.#next);
  }

  #scheduleAsk(pauseMs: number): void {
    const nowMs = this.#runtime.monotonicMs();
    const atMs = Math.max(nowMs, this.#lastAskedAtMs + pauseMs);
    if (this.#next.isSet && this.#next.atMs <= atMs) return;
    if (atMs <= nowMs) this.#ask();
    else this.#deadlines.set(this.#next, atMs);
  }

  #ask(): void {
    if (this.#isAsking || this.#closed || this.#wanted.size === 0) return;
    this.#deadlines.remove(this.#next);
    this.#isAsking = true;
    this.#lastAskedAtMs = this.#runtime.monotonicMs();
    const topics = [...this.#wanted];
    this.#wanted.clear();
    let answer: Promise<ClusterMetadata>;
    try {
      answer = this.#transport.metadata(topics);
    } catch (error) {
      answer = Promise.reject(error);
    }
    answer.then(
      (metadata) => {
        this.#isAsking = false;
        if (this.#closed) return;
        const again = this.#listener.onMetadata(metadata);
        for (const topic of again) this.#wanted.add(topic);
        this.#failures = again.length > 0 ? this.#failures + 1 : 0;
        this.#askAgain();
      },
      (reason: unknown) => {
        this.#isAsking = false;
        if (this.#closed) return;
        this.#failures++;
        for (const topic of topics) this.#wanted.add(topic);
        this.#listener.onMetadataFailed(reason instanceof Error ? reason : new Error(String(reason)), topics);
        this.#askAgain();
      },
    );
  }

  #askAgain(): void {
    if (this.#wanted.size === 0) return;
    this.#scheduleAsk(backoffMs(this.#options, Math.max(1, this.#failures), this.#runtime.random()));
  }

  /** Forgets a topic that was given up. */
  unwant(topic: string): void {
    this.#wanted.delete(topic);
  }
}
