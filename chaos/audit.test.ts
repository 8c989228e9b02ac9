import { expect, test } from 'vitest';
import { audit, type SentRecord } from './audit.ts';

const record = (serial: number, outcome: SentRecord['outcome'], fate?: string): SentRecord => ({
  partition: 0,
  serial,
  sentAtMs: 0,
  outcome,
  settledAtMs: serial * 10,
  ...(fate === undefined ? {} : { fate }),
});
const log = (...serials: number[]) => serials.map((serial) => ({ partition: 0, serial }));

test('a clean run has nothing to report', () => {
  const clean = audit([record(0, 'acknowledged'), record(1, 'acknowledged')], log(0, 1));
  expect(clean).toMatchObject({
    sent: 2,
    acknowledged: 2,
    duplicates: 0,
    lost: 0,
    disorder: 0,
    wrongFates: 0,
    pending: 0,
    longestPauseMs: 10,
  });
});

test('a lost, a repeated and a misplaced record are each counted', () => {
  const sent = [0, 1, 2, 3].map((serial) => record(serial, 'acknowledged'));
  expect(audit(sent, log(0, 2, 1, 2))).toMatchObject({ lost: 1, duplicates: 1, disorder: 1 });
});

test('a record that failed may be stored, unless the client said that it is not', () => {
  const sent = [record(0, 'failed', 'unknown'), record(1, 'failed', 'not-stored'), record(2, 'pending')];
  expect(audit(sent, log(0, 1))).toMatchObject({
    failedUnknown: 1,
    failedNotStored: 1,
    wrongFates: 1,
    pending: 1,
    lost: 0,
  });
});
