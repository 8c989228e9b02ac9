import { describe, expect, it } from 'vitest';
import type { SentPayment } from '../audit/audit.ts';
import { auditTable, brokenPromises, type StoredInSession, stormReport } from './storm-report.ts';

const sent = (paymentId: string, offset: number): SentPayment => ({
  paymentId,
  outcome: 'acknowledged',
  partition: 0,
  offset: BigInt(offset),
});
const stored = (session: string, paymentId: string, offset: number): StoredInSession => ({
  session,
  paymentId,
  partition: 0,
  offset: BigInt(offset),
});

describe('the report of a storm', () => {
  it('a payment that two sessions sent is no broken promise of either, but is counted for the consumer', () => {
    const report = stormReport(
      new Map([
        ['first', [sent('a', 0), sent('b', 1)]],
        ['second', [sent('b', 2)]],
      ]),
      [stored('first', 'a', 0), stored('first', 'b', 1), stored('second', 'b', 2)],
    );
    expect(brokenPromises(report)).toEqual([]);
    expect(report.repeatedAcrossSessions).toBe(1);
    expect(auditTable(report).rows[3]).toEqual(['stored', 2, 1]);
  });

  it('a payment that one session stored twice is a broken promise', () => {
    const report = stormReport(new Map([['first', [sent('a', 0)]]]), [
      stored('first', 'a', 0),
      stored('first', 'a', 1),
    ]);
    expect(brokenPromises(report)).toEqual(['first: duplicates a']);
    expect(report.repeatedAcrossSessions).toBe(0);
  });

  it('each kind of broken promise is named', () => {
    const report = stormReport(
      new Map([
        ['first', [sent('a', 0), sent('b', 2), sent('c', 1), { paymentId: 'd', outcome: 'not-stored' as const }]],
      ]),
      [stored('first', 'b', 2), stored('first', 'c', 1), stored('first', 'd', 3), stored('first', 'x', 4)],
    );
    expect(brokenPromises(report)).toEqual([
      'first: lost a',
      'first: misplaced a',
      'first: outOfOrder c',
      'first: falselyFailed d',
      'first: strangers x',
    ]);
  });
});
