import type { AttemptInfo, BatchInfo, ProducerHooks } from '@sendonce/producer-core';
import type { Attempt, BatchNumbers, SystemEventEmitter } from '../events.ts';

/** Tells of what the producer does, retries above all, as events of the system. */
export function producerEvents(events: SystemEventEmitter): ProducerHooks {
  return {
    onProducerStarted: (producer) => void events.emit('producer-started', { producerId: producer.stats().producerId }),
    onProducerClosed: (producer) => void events.emit('producer-closed', { producerId: producer.stats().producerId }),
    onAttemptStarted: (attempt) => void events.emit('attempt-started', attemptOf(attempt)),
    onAttemptEnded: (attempt, { action, errorName, baseOffset }) =>
      void events.emit('attempt-ended', { ...attemptOf(attempt), action, errorName, baseOffset }),
    onBatchSettled: (batch, { fate, attempts, baseOffset }) =>
      void events.emit('batch-settled', { ...numbersOf(batch), fate, attempts, baseOffset }),
    onEvent: (event) => void events.emit('producer-event', event),
  };
}

/** A copy: what hooks get shows the batch as it is when it is read. */
function numbersOf({ topic, partition, producerId, epoch, baseSequence, recordCount }: BatchInfo): BatchNumbers {
  return { topic, partition, producerId, epoch, baseSequence, recordCount };
}

function attemptOf({ batch, number, brokerId }: AttemptInfo): Attempt {
  return { ...numbersOf(batch), attempt: number, brokerId };
}
