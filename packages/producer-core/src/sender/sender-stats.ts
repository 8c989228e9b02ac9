import type { ReplyRow } from './reply-table.ts';

/** Counters of one producer, from its start. */
export class SenderStats {
  recordsAcknowledged = 0;
  recordsNotStored = 0;
  recordsUnknown = 0;
  requests = 0;
  attempts = 0;
  retries = 0;
  attemptsLost = 0;
  splits = 0;
  resolutions = 0;
  epochBumps = 0;
  dataLossSuspected = 0;
  /** Answers by what they made the sender do (rule C11). */
  readonly answers: Record<ReplyRow['action'], number> = {
    stored: 0,
    duplicate: 0,
    retry: 0,
    'refresh-and-retry': 0,
    'unknown-topic': 0,
    'out-of-order': 0,
    'unknown-producer': 0,
    split: 0,
    fenced: 0,
    unauthorized: 0,
    refused: 0,
  };

  answered(action: ReplyRow['action']): void {
    this.answers[action]++;
  }
}
