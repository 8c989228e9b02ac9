import type { ProducerEvent } from '@sendonce/producer-core';
import type { Attempt, SystemEventEmitter, SystemEvents } from '../system/events.ts';
import type { BatchStories } from './batch-stories.ts';
import { brokerLetter } from './cluster-eye.ts';
import type { ConsumerBook } from './consumer-book.ts';
import type { Story, Timeline } from './timeline.ts';
import { count, offsetsText } from './words.ts';

interface Told {
  readonly timeline: Timeline;
  readonly batches: BatchStories;
  readonly consumers: ConsumerBook;
}

type Outcome = SystemEvents['message-outcome'][0];

/** Tells what producers, consumers and callers see. */
export class SystemStories {
  readonly #timeline: Timeline;
  readonly #batches: BatchStories;
  #calm: { story: Story; stored: number; applied: number } | null = null;
  #repeats: { story: Story; records: number } | null = null;
  #failures: { story: Story; payments: number } | null = null;
  /** Consumers that are down, or came back and read again what they had. Two at most. */
  readonly #crashes = new Map<string, Story>();

  constructor(events: SystemEventEmitter, { timeline, batches, consumers }: Told) {
    this.#timeline = timeline;
    this.#batches = batches;
    events.on('payment-stored', () => this.#calmly('stored'));
    events.on('payment-applied', () => this.#calmly('applied'));
    events.on('payment-accepted', ({ replayed }) => {
      if (replayed) timeline.tell('caught', 'asked again with the same key: the same answer, and nothing is sent');
    });
    events.on('payment-failed', (failed) => this.#failed(failed));
    events.on('producer-started', ({ producerId }) => {
      timeline.tell('note', `a producer starts: id ${producerId}, epoch 0`);
    });
    events.on('producer-closed', ({ producerId }) => {
      timeline.tell('note', `producer ${producerId} stops`);
    });
    events.on('attempt-started', (attempt) => this.#sentAgain(attempt));
    events.on('attempt-ended', (attempt) => this.#unanswered(attempt));
    events.on('batch-settled', (batch) => this.#settled(batch));
    events.on('producer-event', (event) => this.#producerEvent(event));
    consumers.onOutcome((outcome, isReadAgain) => this.#outcome(outcome, isReadAgain));
    events.on('consumer-crashed', (place) => this.#crashed(place));
    events.on('consumer-started', ({ consumer }) => {
      this.#crashes.get(consumer)?.add('it starts again where it had last committed');
    });
    events.on('consumer-paused', ({ consumer, reason }) => {
      timeline.tell('trouble', `the ${consumer} consumer waits: ${reason}`);
    });
    events.on('payment-refused', ({ reason }) => {
      timeline.tell('trouble', `the ledger puts a payment aside: ${reason}`);
    });
  }

  #calmly(what: 'stored' | 'applied'): void {
    if (this.#calm === null || !this.#timeline.isRecent(this.#calm.story))
      this.#calm = { story: this.#timeline.tell('calm', ''), stored: 0, applied: 0 };
    const calm = this.#calm;
    calm[what] += 1;
    const parts = [];
    if (calm.stored > 0) parts.push(`${count(calm.stored, 'payment')} stored and acknowledged`);
    if (calm.applied > 0) parts.push(`${count(calm.applied, 'payment')} applied in the ledger`);
    calm.story.replaceLast(parts.join(', '));
  }

  #failed({ fate }: SystemEvents['payment-failed'][0]): void {
    if (this.#failures === null || !this.#timeline.isRecent(this.#failures.story))
      this.#failures = { story: this.#timeline.tell('bad', ''), payments: 0 };
    this.#failures.payments += 1;
    const known =
      fate === 'unknown' ? '“unknown: perhaps stored, ask again with the same key”' : '“not stored, ask again”';
    this.#failures.story.replaceLast(`${count(this.#failures.payments, 'sender')} told ${known}`);
  }

  #sentAgain(attempt: Attempt): void {
    if (attempt.attempt === 1) {
      // Nothing of it had left, so it was withdrawn with its number: this is another attempt, or another batch.
      this.#batches.end(attempt, 'it had not left: certainly not stored, and its number is free again');
      return;
    }
    this.#batches.goOn(attempt, `same numbers sent again, to broker ${brokerLetter(attempt.brokerId)}`);
  }

  #unanswered(attempt: SystemEvents['attempt-ended'][0]): void {
    const { action, errorName } = attempt;
    if (action === 'lost') {
      const why = errorName === 'REQUEST_TIMEOUT' ? 'no answer in time' : 'the connection broke before an answer';
      this.#batches.tell(attempt, 'trouble', why);
    } else if (action === 'retry' || action === 'refresh-and-retry') {
      this.#batches.tell(attempt, 'trouble', `answered ${errorName ?? action}`);
    }
  }

  #settled(batch: SystemEvents['batch-settled'][0]): void {
    if (batch.fate === 'stored') {
      const where = batch.baseOffset < 0n ? '' : ` at ${offsetsText(batch.baseOffset, batch.recordCount)}`;
      this.#batches.end(batch, `acknowledged: stored once${where}`);
    } else if (batch.fate === 'unknown') {
      this.#batches.tell(batch, 'bad', 'its time is up: nobody knows whether it is stored');
      this.#batches.end(batch, 'its number is used up');
    } else this.#batches.end(batch, 'its time is up: certainly not stored', 'bad');
  }

  #producerEvent(event: ProducerEvent): void {
    if (event.type === 'epoch-bumped')
      this.#timeline.tell('note', `partition ${event.partition} takes epoch ${event.epoch}, and counts from 0 again`);
    else if (event.type === 'resolving')
      this.#timeline.tell('note', `before it goes on, the producer finds out what partition ${event.partition} holds`);
    else if (event.type === 'data-loss-suspected')
      this.#timeline.tell('bad', `partition ${event.partition}: the broker lacks what it had acknowledged`);
    else if (event.type === 'fatal') this.#timeline.tell('bad', `the producer stops: ${event.error.message}`);
  }

  #crashed({ consumer, partition, offset }: SystemEvents['consumer-crashed'][0]): void {
    const story = this.#timeline.tell('trouble', `the ${consumer} consumer dies`);
    story.add(`record ${offset} of partition ${partition} is applied, and not noted as read`);
    this.#crashes.set(consumer, story);
  }

  #outcome(outcome: Outcome, isReadAgain: boolean): void {
    const { consumer, partition, offset, status, firstOffset } = outcome;
    if (status === 'conflict')
      this.#timeline.tell('bad', `record ${offset} of partition ${partition} has a key of another payment: refused`);
    if (status !== 'duplicate') return;
    if (isReadAgain) {
      const part = `record ${offset} of partition ${partition} read again: its key is known, nothing is done`;
      this.#crashes.get(consumer)?.add(part, 'caught');
      this.#crashes.delete(consumer);
    } else if (consumer === 'ledger') this.#repeat(partition, offset, firstOffset);
  }

  #repeat(partition: number, offset: bigint, firstOffset: bigint | null): void {
    if (this.#repeats === null || !this.#timeline.isRecent(this.#repeats.story))
      this.#repeats = { story: this.#timeline.tell('caught', ''), records: 0 };
    const repeats = this.#repeats;
    repeats.records += 1;
    const first = firstOffset === null ? '' : `, applied already at ${firstOffset}`;
    repeats.story.replaceLast(
      repeats.records === 1
        ? `record ${offset} of partition ${partition} holds a known payment${first}: the ledger passes over it`
        : `${repeats.records} records hold known payments: the ledger passes over them`,
    );
  }
}
