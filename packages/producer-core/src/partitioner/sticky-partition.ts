import type { PartitionQueue } from '../accumulator/partition-queue.ts';

/**
 * Where records without a key go: one partition until it got about `switchBytes`, then the next, so that batches fill
 * (KIP-480, KIP-794). Partitions are visited in a random order that is dealt anew each round: every one is used once a round,
 * so the spread stays even however few rounds there are. Those without a leader are passed over while others have one.
 */
export class StickyPartition {
  readonly #switchBytes: number;
  readonly #random: () => number;
  #round: number[] = [];
  #current = -1;
  #bytes = 0;

  constructor(switchBytes: number, random: () => number) {
    this.#switchBytes = switchBytes;
    this.#random = random;
  }

  choose(partitions: readonly PartitionQueue[], recordBytes: number): number {
    if (this.#current < 0 || this.#bytes >= this.#switchBytes || this.#current >= partitions.length) {
      this.#current = this.#deal(partitions);
      this.#bytes = 0;
    }
    this.#bytes += recordBytes;
    return this.#current;
  }

  #deal(partitions: readonly PartitionQueue[]): number {
    for (let tries = 0; tries < 2; tries++) {
      while (this.#round.length > 0) {
        const partition = this.#round.pop()!;
        if (partition < partitions.length && partitions[partition]!.lane !== null) return partition;
      }
      this.#shuffle(partitions.length);
    }
    // None has a leader: any will do, the records wait in its queue.
    return this.#round.pop()!;
  }

  #shuffle(count: number): void {
    const round = Array.from({ length: count }, (_, partition) => partition);
    for (let index = count - 1; index > 0; index--) {
      const other = Math.floor(this.#random() * (index + 1));
      const held = round[index]!;
      round[index] = round[other]!;
      round[other] = held;
    }
    this.#round = round;
  }
}
