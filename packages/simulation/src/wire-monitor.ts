import {
  type PartitionResult,
  type ProduceRequest,
  protocolErrorCodes,
  type Transport,
  TransportError,
} from '@sendonce/producer-core/transport';

import type { Violation } from './evidence.ts';
import { type BatchNumbers, readNumbers } from './log-reader.ts';

/** What was sent under one set of numbers. */
interface SentBatch {
  readonly numbers: BatchNumbers;
  /** A copy, without what a broker writes into it. */
  readonly bytes: Buffer;
  attempts: number;
  inFlight: number;
  /** Whether an answer said that it is stored. */
  stored: boolean;
}

/** What the monitor tells of each request and each attempt. */
export interface WireObserver {
  asked(request: string): void;
  /** The answer, or the error in its place. */
  answered(request: string, answer: unknown): void;
  attempt(brokerId: number, topic: string, partition: number, numbers: BatchNumbers, attempts: number): void;
  answer(brokerId: number, result: PartitionResult, numbers: BatchNumbers): void;
  lost(brokerId: number, numbers: BatchNumbers, error: unknown): void;
}

export interface WireMonitorOptions {
  readonly idempotence: boolean;
  readonly maxInFlight: number;
  readonly report: (violation: Violation) => void;
  readonly observer: WireObserver;
}

const answersAfterAppend: ReadonlySet<number> = new Set([
  protocolErrorCodes.UNKNOWN_SERVER_ERROR,
  protocolErrorCodes.UNKNOWN_TOPIC_OR_PARTITION,
  protocolErrorCodes.LEADER_NOT_AVAILABLE,
  protocolErrorCodes.NOT_LEADER_OR_FOLLOWER,
  protocolErrorCodes.REQUEST_TIMED_OUT,
  protocolErrorCodes.NETWORK_EXCEPTION,
  protocolErrorCodes.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  protocolErrorCodes.KAFKA_STORAGE_ERROR,
]);

/** How many batches of a partition the broker remembers, and so how many may be open at once. */
const spanMax = 5;

/**
 * Watches what one producer sends, from outside: how many requests wait at each broker, how many of a partition's batches are
 * open, that a resend is the same bytes, and that bytes stay as they are while a request needs them.
 */
export class WireMonitor {
  readonly #options: WireMonitorOptions;
  readonly #requests = new Map<number, number>();
  readonly #sent = new Map<string, SentBatch>();
  /** By partition: batches that no answer showed to be stored, from first attempt on. */
  readonly #open = new Map<string, Set<SentBatch>>();

  /** Partitions of which batches were split. */
  readonly #split = new Set<string>();

  constructor(options: WireMonitorOptions) {
    this.#options = options;
  }

  wrap(transport: Transport): Transport {
    return {
      connect: (signal) => transport.connect(signal),
      close: () => transport.close(),
      metadata: (topics) => this.#watched(`metadata of ${topics.join(', ')}`, transport.metadata(topics)),
      initProducerId: () => this.#watched('initProducerId', transport.initProducerId()),
      produce: (brokerId, request) => this.#produce(transport, brokerId, request),
    };
  }

  async #watched<T>(request: string, reply: Promise<T>): Promise<T> {
    const { observer } = this.#options;
    observer.asked(request);
    try {
      const answer = await reply;
      observer.answered(request, answer);
      return answer;
    } catch (error) {
      observer.answered(request, error);
      throw error;
    }
  }

  async #produce(transport: Transport, brokerId: number, request: ProduceRequest): Promise<PartitionResult[]> {
    const requests = (this.#requests.get(brokerId) ?? 0) + 1;
    this.#requests.set(brokerId, requests);
    if (requests > this.#options.maxInFlight) {
      this.#report('no more than maxInFlight requests at a broker', `${requests} at broker ${brokerId}`);
    }
    const batches = request.partitions.map(({ topic, partition, batch }) => {
      const bytes = Buffer.from(batch);
      return { topic, partition, bytes, batch, sent: this.#attempt(brokerId, topic, partition, bytes) };
    });
    try {
      const results = await transport.produce(brokerId, request);
      for (const [index, { sent, topic, partition }] of batches.entries()) {
        const result = results[index];
        if (result === undefined) continue;
        this.#options.observer.answer(brokerId, result, sent.numbers);
        if (isStored(result)) this.#stored(sent, topic, partition);
        else if (!mayBeStored(result)) this.#open.get(`${topic}-${partition}`)?.delete(sent);
        // Its parts are more batches than the one whose place they take: the rule is one of new numbers.
        if (isTooLarge(result)) this.#split.add(`${topic}-${partition}`);
      }
      return results;
    } catch (error) {
      const neverLeft = error instanceof TransportError && error.sent === 'no';
      for (const { sent, topic, partition } of batches) {
        this.#options.observer.lost(brokerId, sent.numbers, error);
        if (neverLeft) this.#neverLeft(sent, topic, partition);
      }
      throw error;
    } finally {
      this.#requests.set(brokerId, this.#requests.get(brokerId)! - 1);
      for (const { sent, bytes, batch, topic, partition } of batches) {
        sent.inFlight--;
        if (!bytes.equals(batch)) {
          this.#report(
            'bytes stay as they are while a request needs them',
            `${topic}-${partition} ${show(sent.numbers)}`,
          );
        }
      }
    }
  }

  #attempt(brokerId: number, topic: string, partition: number, bytes: Buffer): SentBatch {
    const numbers = readNumbers(bytes);
    const where = `${topic}-${partition}`;
    const key = keyOf(where, numbers);
    let sent = this.#options.idempotence ? this.#sent.get(key) : undefined;
    if (sent === undefined) {
      sent = { numbers, bytes, attempts: 0, inFlight: 0, stored: false };
      this.#sent.set(key, sent);
    } else if (!sent.bytes.equals(bytes)) {
      this.#report('a resend is the same bytes', `${where} ${show(numbers)}`);
    }
    sent.attempts++;
    sent.inFlight++;
    if (sent.inFlight > 1) this.#report('a batch has one attempt in flight', `${where} ${show(numbers)}`);
    if (this.#options.idempotence) this.#checkSpan(where, sent);
    this.#options.observer.attempt(brokerId, topic, partition, numbers, sent.attempts);
    return sent;
  }

  /** No byte of the attempt left: its numbers may go to another batch. */
  #neverLeft(sent: SentBatch, topic: string, partition: number): void {
    sent.attempts--;
    if (sent.attempts > 0) return;
    const where = `${topic}-${partition}`;
    this.#sent.delete(keyOf(where, sent.numbers));
    this.#open.get(where)?.delete(sent);
  }

  #checkSpan(where: string, sent: SentBatch): void {
    let open = this.#open.get(where);
    if (open === undefined) {
      open = new Set();
      this.#open.set(where, open);
    }
    // A later epoch begins when the fate of everything before it is known; a part of a batch takes the place of the whole.
    for (const other of open) {
      if (isOtherEpoch(other.numbers, sent.numbers) || isPartOf(sent.numbers, other.numbers)) open.delete(other);
    }
    if (!sent.stored) open.add(sent);
    if (open.size > spanMax && !this.#split.has(where)) {
      this.#report(
        'no more than five batches of a partition may be stored without an answer',
        `${where}: ${[...open].map((each) => show(each.numbers)).join(', ')}`,
      );
    }
  }

  /** Stored means that every earlier batch of the partition and epoch is stored too. */
  #stored(sent: SentBatch, topic: string, partition: number): void {
    sent.stored = true;
    const open = this.#open.get(`${topic}-${partition}`);
    if (open === undefined) return;
    for (const other of open) {
      if (isLater(other.numbers, sent.numbers)) continue;
      other.stored = true;
      open.delete(other);
    }
  }

  #report(property: string, message: string): void {
    this.#options.report({ property, message });
  }
}

function keyOf(where: string, { producerId, producerEpoch, baseSequence, recordCount }: BatchNumbers): string {
  return `${where} ${producerId} ${producerEpoch} ${baseSequence} ${recordCount}`;
}

function isOtherEpoch(one: BatchNumbers, other: BatchNumbers): boolean {
  return one.producerEpoch !== other.producerEpoch || one.producerId !== other.producerId;
}

/** Sequence numbers go round: what is less than half the circle ahead is later. */
function isLater(one: BatchNumbers, than: BatchNumbers): boolean {
  const ahead = (one.baseSequence - than.baseSequence + 2 ** 31) % 2 ** 31;
  return ahead > 0 && ahead < 2 ** 30;
}

function isPartOf(part: BatchNumbers, whole: BatchNumbers): boolean {
  return (
    part.recordCount < whole.recordCount &&
    part.baseSequence >= whole.baseSequence &&
    part.baseSequence + part.recordCount <= whole.baseSequence + whole.recordCount
  );
}

function show({ producerId, producerEpoch, baseSequence, recordCount }: BatchNumbers): string {
  return `producer ${producerId} epoch ${producerEpoch} sequence ${baseSequence}+${recordCount}`;
}

function isStored({ errorCode }: PartitionResult): boolean {
  return errorCode === protocolErrorCodes.NONE || errorCode === protocolErrorCodes.DUPLICATE_SEQUENCE_NUMBER;
}

function isTooLarge({ errorCode }: PartitionResult): boolean {
  return errorCode === protocolErrorCodes.MESSAGE_TOO_LARGE || errorCode === protocolErrorCodes.RECORD_LIST_TOO_LARGE;
}

/** Whether a broker that answers so may have appended the batch. */
function mayBeStored({ errorCode }: PartitionResult): boolean {
  return answersAfterAppend.has(errorCode);
}
