import type { ConsumerName, SystemEventEmitter, SystemEvents } from '../system/events.ts';
import type { ConsumerView, LedgerView } from './snapshot.ts';

const recentShown = 6;
const accountsShown = 6;

type MessageOutcome = SystemEvents['message-outcome'][0];

interface ConsumerPage {
  state: ConsumerView['state'];
  processed: number;
  duplicates: number;
  conflicts: number;
  /** Records of a payment that another record had brought before. */
  sentAgain: number;
  readAgain: number;
  readonly nextOffsets: Map<number, bigint>;
  recent: ConsumerView['recent'][number][];
}

/** Called for each outcome; `isReadAgain`: the record was dealt with before, and only read once more. */
export type OutcomeListener = (outcome: MessageOutcome, isReadAgain: boolean) => void;

/** Keeps what became of the records, by consumer. */
export class ConsumerBook {
  readonly #pages = new Map<ConsumerName, ConsumerPage>();
  readonly #listeners: OutcomeListener[] = [];

  constructor(events: SystemEventEmitter) {
    const setState = (consumer: ConsumerName, state: ConsumerView['state']): void => {
      this.#page(consumer).state = state;
    };
    events.on('consumer-started', ({ consumer }) => setState(consumer, 'running'));
    events.on('consumer-crashed', ({ consumer }) => setState(consumer, 'crashed'));
    events.on('consumer-paused', ({ consumer }) => setState(consumer, 'waiting'));
    events.on('consumer-resumed', ({ consumer }) => setState(consumer, 'running'));
    events.on('message-outcome', (outcome) => this.#note(outcome));
  }

  begin(name: ConsumerName): void {
    this.#page(name);
  }

  onOutcome(listener: OutcomeListener): void {
    this.#listeners.push(listener);
  }

  /** Records that the consumer has dealt with, each counted once. */
  recordsDone(consumer: ConsumerName): number {
    const page = this.#pages.get(consumer);
    return page === undefined ? 0 : page.processed + page.sentAgain + page.conflicts;
  }

  sentAgain(consumer: ConsumerName): number {
    return this.#pages.get(consumer)?.sentAgain ?? 0;
  }

  readAgain(consumer: ConsumerName): number {
    return this.#pages.get(consumer)?.readAgain ?? 0;
  }

  /** @param endOf The offset that a partition's next record gets; `null` where nobody knows. */
  views(endOf: (partition: number) => number | null): ConsumerView[] {
    return Array.from(this.#pages, ([name, { state, processed, duplicates, conflicts, nextOffsets, recent }]) => ({
      name,
      state,
      processed,
      duplicates,
      conflicts,
      recent: [...recent],
      partitions: [...nextOffsets]
        .sort(([one], [other]) => one - other)
        .map(([partition, next]) => {
          const nextOffset = Number(next);
          return { partition, nextOffset, behind: Math.max(0, (endOf(partition) ?? nextOffset) - nextOffset) };
        }),
    }));
  }

  #page(name: ConsumerName): ConsumerPage {
    let page = this.#pages.get(name);
    if (page === undefined) {
      page = {
        state: 'running',
        processed: 0,
        duplicates: 0,
        conflicts: 0,
        sentAgain: 0,
        readAgain: 0,
        nextOffsets: new Map(),
        recent: [],
      };
      this.#pages.set(name, page);
    }
    return page;
  }

  #note(outcome: MessageOutcome): void {
    const { consumer, partition, offset, key, status } = outcome;
    const page = this.#page(consumer);
    const isReadAgain = offset < (page.nextOffsets.get(partition) ?? 0n);
    for (const listener of this.#listeners) listener(outcome, isReadAgain);
    page.recent = [...page.recent, { partition, offset: Number(offset), payment: key, status }].slice(-recentShown);
    if (status === 'in-progress' || status === 'failed') return;
    if (status === 'processed') page.processed += 1;
    if (status === 'conflict') page.conflicts += 1;
    if (status === 'duplicate') {
      page.duplicates += 1;
      if (isReadAgain) page.readAgain += 1;
      else page.sentAgain += 1;
    }
    if (!isReadAgain) page.nextOffsets.set(partition, offset + 1n);
  }
}

/** Keeps what the ledger applied, as it says it. */
export class LedgerBook {
  /** Bounded by the accounts there are: a payment of another one is not applied. */
  readonly #balances = new Map<string, number>();
  #payments = 0;
  #movedMinor = 0;

  constructor(events: SystemEventEmitter) {
    events.on('payment-applied', ({ from, to, amountMinor }) => {
      this.#payments += 1;
      this.#movedMinor += amountMinor;
      this.#move(from, -amountMinor);
      this.#move(to, amountMinor);
    });
  }

  get payments(): number {
    return this.#payments;
  }

  view(): LedgerView {
    const accounts = Array.from(this.#balances, ([account, balanceMinor]) => ({ account, balanceMinor }));
    return {
      payments: this.#payments,
      entries: 2 * this.#payments,
      sumMinor: accounts.reduce((sum, { balanceMinor }) => sum + balanceMinor, 0),
      movedMinor: this.#movedMinor,
      accounts: accounts
        .sort((one, other) => Math.abs(other.balanceMinor) - Math.abs(one.balanceMinor))
        .slice(0, accountsShown),
    };
  }

  #move(account: string, byMinor: number): void {
    this.#balances.set(account, (this.#balances.get(account) ?? 0) + byMinor);
  }
}
