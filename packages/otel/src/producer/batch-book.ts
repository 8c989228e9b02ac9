import type { BatchInfo, ProducerInfo } from '@sendonce/producer-core';
import { BatchFacts } from './batch-facts.ts';

/**
 * What is known of each batch that something may still be heard of: as many as producers hold, and one entry each until it is settled and its last
 * attempt has ended. Not a weak map: with one, the young collector would keep every batch.
 */
export class BatchBook {
  readonly #facts = new Map<BatchInfo, BatchFacts>();

  get size(): number {
    return this.#facts.size;
  }

  find(batch: BatchInfo): BatchFacts | undefined {
    return this.#facts.get(batch);
  }

  of(batch: BatchInfo): BatchFacts {
    return this.#facts.get(batch) ?? this.#open(batch, null);
  }

  split(whole: BatchFacts, parts: readonly BatchInfo[]): void {
    for (const part of parts) this.#open(part, whole);
  }

  settled(facts: BatchFacts): void {
    facts.isSettled = true;
    this.looked(facts);
  }

  /** Lets go of it when it is over. */
  looked(facts: BatchFacts): void {
    if (facts.isOver) this.#facts.delete(facts.batch);
  }

  /** The producer is closed. A transport may owe answers that nobody will hear. */
  forget(producer: ProducerInfo): void {
    for (const batch of this.#facts.keys()) if (batch.producer === producer) this.#facts.delete(batch);
  }

  clear(): void {
    this.#facts.clear();
  }

  #open(batch: BatchInfo, whole: BatchFacts | null): BatchFacts {
    const facts = new BatchFacts(batch, whole);
    this.#facts.set(batch, facts);
    return facts;
  }
}
