import { describe, expect, it } from 'vitest';
import { type Books, reconcileBooks } from './reconciliation.ts';

const record = (paymentId: string | null, past: 'both' | 'ledger' | 'neither' = 'both') => ({
  paymentId,
  isPastLedger: past !== 'neither',
  isPastNotifications: past === 'both',
});
const applied = { count: 2, sumMinor: 0 };

const books: Books = {
  requests: [
    { key: 'a', paymentId: '1', isAccepted: true },
    { key: 'b', paymentId: '2', isAccepted: true },
  ],
  records: [record('1'), record('2')],
  entries: new Map([
    ['1', applied],
    ['2', applied],
  ]),
  refused: new Set(),
  notifications: new Map([
    ['1', 1],
    ['2', 1],
  ]),
  ledgerSumMinor: 0,
  wrongBalances: [],
  batchesRecognised: 3,
};

describe('reconciliation', () => {
  it('finds books that agree balanced', () => {
    expect(reconcileBooks(books)).toEqual({
      accepted: 2,
      pending: 0,
      pendingStored: 0,
      recordsInLog: 2,
      paymentsInLog: 2,
      applied: 2,
      refused: 0,
      notified: 2,
      waitingForLedger: 0,
      waitingForNotification: 0,
      duplicatesCaughtByBroker: 3,
      duplicatesCaughtByKey: 0,
      ledgerSumMinor: 0,
      wrongBalances: [],
      differences: [],
      isBalanced: true,
    });
  });

  it('counts what is on its way as waiting, not as a difference', () => {
    const found = reconcileBooks({
      ...books,
      records: [record('1', 'neither'), record('2', 'ledger')],
      entries: new Map([['2', applied]]),
      notifications: new Map(),
    });
    expect(found).toMatchObject({ waitingForLedger: 1, waitingForNotification: 2, isBalanced: true });
  });

  it('counts repeats in the log as caught when their payment is applied once', () => {
    const found = reconcileBooks({
      ...books,
      records: [record('1'), record('2'), record('2'), record('2', 'neither')],
    });
    expect(found).toMatchObject({ recordsInLog: 4, paymentsInLog: 2, duplicatesCaughtByKey: 2, isBalanced: true });
  });

  it('knows requests that nobody was told about, stored or not', () => {
    const pending = (paymentId: string) => ({ key: paymentId, paymentId, isAccepted: false });
    const found = reconcileBooks({
      ...books,
      requests: [...books.requests, pending('3'), pending('4')],
      records: [...books.records, record('3')],
      entries: new Map([...books.entries, ['3', applied]]),
      notifications: new Map([...books.notifications, ['3', 1]]),
    });
    expect(found).toMatchObject({ accepted: 2, pending: 2, pendingStored: 1, applied: 3, isBalanced: true });
  });

  it('takes a refused payment as dealt with, and a record that is no payment as none', () => {
    const found = reconcileBooks({
      ...books,
      records: [...books.records, record(null)],
      entries: new Map([['1', applied]]),
      refused: new Set(['2']),
    });
    expect(found).toMatchObject({ recordsInLog: 3, paymentsInLog: 2, refused: 1, isBalanced: true });
  });

  it.each<[string, Partial<Books>, object]>([
    [
      'accepted-not-stored',
      { records: [record('1')], entries: new Map([['1', applied]]) },
      { paymentId: '2', key: 'b' },
    ],
    ['stored-not-applied', { entries: new Map([['1', applied]]) }, { paymentId: '2', key: 'b' }],
    [
      'applied-twice',
      { entries: new Map([...books.entries, ['2', { count: 4, sumMinor: 0 }]]) },
      { paymentId: '2', key: 'b' },
    ],
    ['applied-not-stored', { entries: new Map([...books.entries, ['9', applied]]) }, { paymentId: '9', key: null }],
    [
      'entries-not-balanced',
      { entries: new Map([...books.entries, ['1', { count: 2, sumMinor: 5 }]]) },
      { paymentId: '1', key: 'a' },
    ],
    [
      'entries-not-balanced',
      { entries: new Map([...books.entries, ['1', { count: 1, sumMinor: 0 }]]) },
      { paymentId: '1', key: 'a' },
    ],
    ['stored-not-notified', { notifications: new Map([['1', 1]]) }, { paymentId: '2', key: 'b' }],
    ['notified-twice', { notifications: new Map([...books.notifications, ['1', 2]]) }, { paymentId: '1', key: 'a' }],
  ])('names a payment that differs: %s', (kind, change, named) => {
    const found = reconcileBooks({ ...books, ...change });
    expect(found.differences).toEqual([{ ...named, kind }]);
    expect(found.isBalanced).toBe(false);
  });

  it.each<[string, Partial<Books>]>([
    ['a sum that is not zero', { ledgerSumMinor: -1 }],
    ['a balance that is not the sum of its entries', { wrongBalances: ['account-1'] }],
  ])('is not balanced with %s', (_what, change) => {
    expect(reconcileBooks({ ...books, ...change }).isBalanced).toBe(false);
  });
});
