import type { Attempt, BatchNumbers, SystemEventEmitter } from '../system/events.ts';
import type { ProducerView, WindowBatchView } from './snapshot.ts';

/** Producers that are shown; older ones are forgotten, but their batches keep their colour. */
const producersShown = 3;
/** Producer ids whose session is remembered: a log that is shown names no more. */
const sessionsKept = 500;

interface PartitionNumbers {
  epoch: number;
  nextSequence: number;
  readonly window: Map<number, Open>;
}

interface Open {
  readonly numbers: BatchNumbers;
  attempt: number;
  state: WindowBatchView['state'];
}

interface ProducerPage {
  readonly session: number;
  readonly producerId: bigint;
  state: ProducerView['state'];
  readonly partitions: Map<number, PartitionNumbers>;
}

/** Keeps the numbers of each producer, from what its attempts tell. */
export class ProducerBook {
  readonly #pages = new Map<bigint, ProducerPage>();
  readonly #sessions = new Map<bigint, number>();

  constructor(events: SystemEventEmitter) {
    events.on('producer-started', ({ producerId }) => void this.#page(producerId));
    events.on('producer-closed', ({ producerId }) => this.#close(producerId));
    events.on('attempt-started', (attempt) => this.#started(attempt));
    events.on('attempt-ended', (attempt) => this.#ended(attempt));
    events.on('batch-settled', (batch) => this.#settled(batch));
  }

  begin(producerId: bigint): void {
    this.#page(producerId);
  }

  /** From 1, in the order in which producers were first heard of; 0 for one that never was. */
  sessionOf(producerId: bigint): number {
    return this.#sessions.get(producerId) ?? 0;
  }

  views(): ProducerView[] {
    return Array.from(this.#pages.values(), ({ session, producerId, state, partitions }) => ({
      session,
      producerId: String(producerId),
      state,
      partitions: [...partitions]
        .sort(([one], [other]) => one - other)
        .map(([partition, { epoch, nextSequence, window }]) => ({
          partition,
          epoch,
          nextSequence,
          window: [...window.values()]
            .sort((one, other) => one.numbers.baseSequence - other.numbers.baseSequence)
            .map(({ numbers, attempt, state: batchState }) => ({
              sequence: sequenceOf(numbers),
              epoch: numbers.epoch,
              attempt,
              state: batchState,
            })),
        })),
    }));
  }

  #page(producerId: bigint): ProducerPage {
    const known = this.#pages.get(producerId);
    if (known !== undefined) return known;
    const session = this.#sessions.get(producerId) ?? this.#sessions.size + 1;
    if (this.#sessions.size < sessionsKept) this.#sessions.set(producerId, session);
    const page: ProducerPage = { session, producerId, state: 'running', partitions: new Map() };
    this.#pages.set(producerId, page);
    for (const [id] of this.#pages) {
      if (this.#pages.size <= producersShown) break;
      this.#pages.delete(id);
    }
    return page;
  }

  #close(producerId: bigint): void {
    const page = this.#pages.get(producerId);
    if (page === undefined) return;
    page.state = 'closed';
    for (const { window } of page.partitions.values()) window.clear();
  }

  #started(attempt: Attempt): void {
    const { partitions } = this.#page(attempt.producerId);
    let numbers = partitions.get(attempt.partition);
    if (numbers === undefined || attempt.epoch > numbers.epoch) {
      // A new epoch counts from 0 again, and gives what it takes along new numbers.
      numbers = { epoch: attempt.epoch, nextSequence: 0, window: new Map() };
      partitions.set(attempt.partition, numbers);
    }
    if (attempt.epoch < numbers.epoch) return;
    const next = attempt.baseSequence + attempt.recordCount;
    numbers.nextSequence = Math.max(numbers.nextSequence, next);
    numbers.window.set(attempt.baseSequence, { numbers: attempt, attempt: attempt.attempt, state: 'in-flight' });
  }

  #ended(attempt: Attempt): void {
    const open = this.#openOf(attempt);
    if (open !== undefined && open.attempt === attempt.attempt) open.state = 'waits-for-retry';
  }

  #settled(batch: BatchNumbers): void {
    const numbers = this.#pages.get(batch.producerId)?.partitions.get(batch.partition);
    if (numbers?.epoch === batch.epoch) numbers.window.delete(batch.baseSequence);
  }

  #openOf({ producerId, partition, epoch, baseSequence }: BatchNumbers): Open | undefined {
    const numbers = this.#pages.get(producerId)?.partitions.get(partition);
    return numbers?.epoch === epoch ? numbers.window.get(baseSequence) : undefined;
  }
}

export function sequenceOf({ baseSequence, recordCount }: Pick<BatchNumbers, 'baseSequence' | 'recordCount'>) {
  return { first: baseSequence, last: baseSequence + recordCount - 1 };
}
