import { EventEmitter } from 'node:events';
import type { AttemptOutcome, Fate, ProducerEvent } from '@sendonce/producer-core';

export type ConsumerName = 'ledger' | 'notifications';

/** Where a record lies. */
export interface Place {
  readonly topic: string;
  readonly partition: number;
  /** -1n: stored, but no answer said where. */
  readonly offset: bigint;
}

/** A batch as the producer numbered it. */
export interface BatchNumbers {
  readonly topic: string;
  readonly partition: number;
  readonly producerId: bigint;
  readonly epoch: number;
  readonly baseSequence: number;
  readonly recordCount: number;
}

export interface Attempt extends BatchNumbers {
  /** From 1; above 1 it is a retry. */
  readonly attempt: number;
  readonly brokerId: number;
}

interface OfPayment {
  readonly paymentId: string;
  readonly key: string;
}

/** What happens in the system, as it happens. One argument each, and plain data. */
export interface SystemEvents {
  /** The client was told that its payment is accepted. `replayed`: it had been told before, and got the same answer. */
  'payment-accepted': [OfPayment & { readonly replayed: boolean }];
  /** The broker acknowledged a record of the payment; again for each time it is sent. */
  'payment-stored': [OfPayment & Place];
  /** The broker did not acknowledge it in time. `unknown`: it may be stored all the same. */
  'payment-failed': [OfPayment & { readonly fate: Exclude<Fate, 'stored'>; readonly reason: string }];

  'producer-started': [{ readonly producerId: bigint }];
  'producer-closed': [{ readonly producerId: bigint }];
  'attempt-started': [Attempt];
  'attempt-ended': [Attempt & Pick<AttemptOutcome, 'action' | 'errorName' | 'baseOffset'>];
  'batch-settled': [BatchNumbers & { readonly fate: Fate; readonly attempts: number; readonly baseOffset: bigint }];
  'producer-event': [ProducerEvent];

  /** What the de-duplication made of one record. `firstOffset`: where the record lies that was processed before. */
  'message-outcome': [
    Place & {
      readonly consumer: ConsumerName;
      readonly key: string | null;
      readonly status: 'processed' | 'duplicate' | 'conflict' | 'in-progress' | 'failed';
      readonly firstOffset: bigint | null;
    },
  ];
  'payment-applied': [OfPayment & Place & { readonly from: string; readonly to: string; readonly amountMinor: number }];
  /** The ledger can't apply it, and says so in its table of refusals. */
  'payment-refused': [Place & { readonly paymentId: string | null; readonly reason: string }];
  'notification-sent': [OfPayment & Place];

  'consumer-started': [{ readonly consumer: ConsumerName }];
  /** It died after the effect of this record and before it committed the offset. */
  'consumer-crashed': [Place & { readonly consumer: ConsumerName }];
  /** A record can't be processed now; it is tried again until it can. */
  'consumer-paused': [Place & { readonly consumer: ConsumerName; readonly reason: string; readonly retryInMs: number }];
  'consumer-resumed': [Place & { readonly consumer: ConsumerName }];
}

export type SystemEventEmitter = EventEmitter<SystemEvents>;

export function createSystemEvents(): SystemEventEmitter {
  return new EventEmitter<SystemEvents>();
}
