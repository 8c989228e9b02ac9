import type { Accumulator } from '../accumulator/accumulator.ts';
import type { ProducerBatch } from '../accumulator/batch.ts';
import type { PartitionQueue } from '../accumulator/partition-queue.ts';
import type { TransportError } from '../errors.ts';
import { protocolErrorName } from '../transport/protocol-errors.ts';
import type { PartitionResult } from '../transport/transport.ts';
import type { Attempt } from './attempt.ts';
import { authorizationError, fencedError, lostError, refusedError, tooLargeError } from './failures.ts';
import { replyRow } from './reply-table.ts';
import { pauseBeforeRetry } from './retry-pause.ts';
import type { SenderPorts } from './sender-ports.ts';
import type { Settlement } from './settlement.ts';
import { splitInTwo } from './split.ts';

/** Answers in a row that a topic is unknown before its batches fail (rule C11). A new topic takes a moment to be known everywhere. */
export const unknownTopicLimit = 5;

/** What an outcome asks of the sender. */
export interface OutcomeListener {
  /** A reply made room in the partition. */
  roomMade(queue: PartitionQueue): void;
  /** The answer named the partition's leader. */
  leaderIs(queue: PartitionQueue, brokerId: number, leaderEpoch: number): void;
}

/** How an attempt ended, and what that means for its batch and its partition (rule C11, row by row). */
export class AttemptOutcomes {
  readonly #ports: SenderPorts;
  readonly #accumulator: () => Accumulator;
  readonly #settlement: Settlement;
  readonly #listener: OutcomeListener;

  constructor(ports: SenderPorts, accumulator: () => Accumulator, settlement: Settlement, listener: OutcomeListener) {
    this.#ports = ports;
    this.#accumulator = accumulator;
    this.#settlement = settlement;
    this.#listener = listener;
  }

  /** No answer came. */
  lost(attempt: Attempt, error: TransportError): void {
    const { batch } = attempt;
    const { queue } = batch;
    const { observer, stats } = this.#ports;
    const nowMs = this.#now();
    const left = error.sent !== 'no';
    stats.attemptsLost++;
    if (observer.watchesAttempts) {
      observer.attemptEnded(attempt, {
        endedAtMs: nowMs,
        action: 'lost',
        effect: left ? 'maybe' : 'none',
        errorCode: null,
        errorName: error.code,
        isOldest: queue.sequencer.numbered[0] === batch,
        baseOffset: -1n,
        error,
      });
    }
    if (!queue.sequencer.attemptEnded(attempt, left)) return;
    if (left) {
      noteUnanswered(attempt);
      batch.lostAtMs = nowMs;
    }
    batch.lastError = error;
    queue.sequencer.connectionLost();
    if (batch.state === 'settled') this.#settlement.releaseIfDone(batch);
    else if (!error.retriable) {
      this.#settlement.end(batch, () => lostError(batch, error));
      queue.sequencer.ended(batch, 'refused', nowMs);
      this.#listener.roomMade(queue);
      return;
    }
    pauseBeforeRetry(queue, this.#ports, nowMs);
    this.#ports.wantMetadata(queue);
    queue.sequencer.retriable(batch, nowMs);
    this.#listener.roomMade(queue);
  }

  answered(attempt: Attempt, result: PartitionResult): void {
    const { batch } = attempt;
    const { queue } = batch;
    const { sequencer } = queue;
    const { observer, stats } = this.#ports;
    const nowMs = this.#now();
    const row = replyRow(result.errorCode);
    if (observer.watchesAttempts) {
      const error = result.errorCode === 0 ? null : refusedError(batch, result);
      observer.attemptEnded(attempt, {
        endedAtMs: nowMs,
        action: row.action,
        effect: row.effect,
        errorCode: result.errorCode,
        errorName: error === null ? null : protocolErrorName(result.errorCode),
        isOldest: sequencer.numbered[0] === batch,
        baseOffset: result.baseOffset,
        error,
      });
    }
    stats.answered(row.action);
    if (!sequencer.attemptEnded(attempt, true)) return;
    if (row.effect === 'maybe') noteUnanswered(attempt);
    if (row.effect !== 'stored') batch.lastError = refusedError(batch, result);
    if (batch.state === 'settled') this.#settlement.releaseIfDone(batch);

    switch (row.action) {
      case 'stored':
      case 'duplicate':
        this.#stored(attempt, row.action === 'stored' ? result.baseOffset : -1n, result, nowMs);
        break;
      case 'unknown-topic':
        if (++queue.unknownTopicAnswers >= unknownTopicLimit && batch.state !== 'settled' && !batch.knownStored) {
          this.#refuse(batch, result, nowMs);
          // It may have been made again meanwhile, and the next batch may have to hear of that.
          queue.unknownTopicAnswers = 0;
          this.#ports.wantMetadata(queue);
        } else this.#retryElsewhere(attempt, result, nowMs);
        break;
      case 'refresh-and-retry':
        this.#retryElsewhere(attempt, result, nowMs);
        break;
      case 'retry':
        this.#retry(batch, nowMs);
        break;
      case 'out-of-order':
      case 'unknown-producer':
        sequencer.outOfOrder(batch, row.action, result.logStartOffset, nowMs);
        break;
      case 'split':
        this.#splitOrRefuse(batch, result, nowMs);
        break;
      case 'fenced':
        this.#ports.fatal(fencedError(batch, result));
        return;
      case 'unauthorized':
      case 'refused':
        this.#refuse(batch, result, nowMs);
    }
    this.#listener.roomMade(queue);
  }

  #stored(attempt: Attempt, baseOffset: bigint, result: PartitionResult, nowMs: number): void {
    const { batch } = attempt;
    const { queue } = batch;
    queue.failures = 0;
    queue.unknownTopicAnswers = 0;
    if (baseOffset >= 0n) batch.logAppendTimeMs = result.logAppendTimeMs;
    queue.sequencer.stored(attempt, baseOffset, nowMs, this.#rememberedUntilMs(batch, nowMs));
  }

  /**
   * Until when the broker surely remembers the producer after it stored this batch. It counts from the newest record's timestamp
   * (rule C19), by its own clock and at intervals of its own: hence half of the time.
   */
  #rememberedUntilMs(batch: ProducerBatch, nowMs: number): number {
    const { producerIdExpirationMs, runtime } = this.#ports.options;
    const ageMs = Math.max(0, runtime.wallClockMs() - batch.maxTimestampMs);
    return nowMs + producerIdExpirationMs / 2 - ageMs;
  }

  #retry(batch: ProducerBatch, nowMs: number): void {
    pauseBeforeRetry(batch.queue, this.#ports, nowMs);
    batch.queue.sequencer.retriable(batch, nowMs);
  }

  #retryElsewhere({ batch, ofFormerTopic }: Attempt, result: PartitionResult, nowMs: number): void {
    const { queue } = batch;
    pauseBeforeRetry(queue, this.#ports, nowMs);
    const hint = result.currentLeader;
    const isNews = hint !== undefined && !ofFormerTopic && hint.brokerId >= 0 && hint.leaderEpoch > queue.leaderEpoch;
    // The hint names the leader, so there is nothing to ask and nothing to wait for.
    if (isNews) this.#listener.leaderIs(queue, hint.brokerId, hint.leaderEpoch);
    else {
      queue.sequencer.leaderChanged(nowMs);
      this.#ports.wantMetadata(queue);
    }
    queue.sequencer.retriable(batch, nowMs);
  }

  #refuse(batch: ProducerBatch, result: PartitionResult, nowMs: number): void {
    // Its callers know already, and only its fate is still wanted (C9): the answer did not tell.
    if (batch.state === 'settled') {
      this.#retry(batch, nowMs);
      return;
    }
    const isDenied = replyRow(result.errorCode).action === 'unauthorized';
    this.#settlement.end(batch, () => (isDenied ? authorizationError(batch, result) : refusedError(batch, result)));
    batch.queue.sequencer.ended(batch, 'refused', nowMs);
  }

  #splitOrRefuse(batch: ProducerBatch, result: PartitionResult, nowMs: number): void {
    const { sequencer } = batch.queue;
    if (batch.state === 'settled' || batch.knownStored) this.#refuse(batch, result, nowMs);
    else if (batch.recordCount === 1 || batch.unanswered > 0) {
      // With an unanswered attempt the whole may be stored: its halves would then be taken for new records.
      this.#settlement.end(batch, () => tooLargeError(batch, result));
      sequencer.ended(batch, 'refused', nowMs);
    } else if (sequencer.state === 'resolving') sequencer.refusedWhileResolving(batch, nowMs);
    else this.#split(batch);
  }

  #split(batch: ProducerBatch): void {
    const { deadlines, observer, stats } = this.#ports;
    const { queue, recordCount } = batch;
    const accumulator = this.#accumulator();
    const halves = splitInTwo(batch, accumulator.flushes, accumulator.codecs);
    for (const half of halves) {
      deadlines.set(half, batch.atMs);
      accumulator.pool.charge(half.chargedBytes);
    }
    deadlines.remove(batch);
    batch.dropSettlers();
    batch.moveTo('settled');
    queue.sequencer.replace(batch, halves);
    accumulator.flushes.leave(batch.flushGroup);
    accumulator.release(batch);
    for (const half of halves) accumulator.prepare(half);
    stats.splits++;
    observer.batchSplit(batch, halves);
    observer.event({ type: 'batch-split', topic: queue.topic.topic, partition: queue.partition, recordCount });
  }

  #now(): number {
    return this.#ports.options.runtime.monotonicMs();
  }
}

function noteUnanswered({ batch, ofFormerTopic }: Attempt): void {
  batch.unanswered++;
  if (ofFormerTopic) batch.unansweredInFormerTopic++;
}
