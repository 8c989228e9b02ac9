import { describe, expect, it } from 'vitest';
import { reconcileBooks } from '../system/reconcile/reconciliation.ts';
import type { SoakReport } from './soak.ts';
import { verdictOf } from './verdict.ts';

const stored = (paymentId: string) => ({ paymentId, isPastLedger: true, isPastNotifications: true });
const books = {
  requests: [{ key: 'a', paymentId: '1', isAccepted: true }],
  records: [stored('1'), stored('1')],
  entries: new Map([['1', { count: 2, sumMinor: 0 }]]),
  refused: new Set<string>(),
  notifications: new Map([['1', 1]]),
  ledgerSumMinor: 0,
  wrongBalances: [],
  batchesRecognised: null,
};

const right: SoakReport = {
  payments: 1,
  requests: 2,
  setbacks: 1,
  resent: 1,
  troubles: [{ name: 'Redis stopped', tookMs: 1, longestGapMs: 1 }],
  books: reconcileBooks(books),
  acceptedNotApplied: [],
  complaints: [],
  measures: [
    { name: 'API', before: { heapBytes: 40_000_000, handles: 30 }, after: { heapBytes: 41_000_000, handles: 12 } },
  ],
};

const failures = (change: Partial<SoakReport>): string[] =>
  verdictOf({ ...right, ...change })
    .filter(({ held }) => !held)
    .map(({ claim }) => claim);

describe('a soak passes only when everything held', () => {
  it('passes when it did', () => expect(failures({})).toEqual([]));

  it.each<[string, Partial<SoakReport>, RegExp]>([
    ['a client that was never told', { payments: 2 }, /every client was told/],
    [
      'nothing was paid at all',
      { payments: 0, books: reconcileBooks({ ...books, requests: [] }) },
      /every client was told/,
    ],
    ['an accepted payment is not applied', { acceptedNotApplied: ['a'] }, /every accepted payment is applied/],
    [
      'a payment applied twice',
      { books: reconcileBooks({ ...books, entries: new Map([['1', { count: 4, sumMinor: 0 }]]) }) },
      /agree/,
    ],
    [
      'more payments applied than accepted',
      { books: reconcileBooks({ ...books, entries: new Map([...books.entries, ['2', { count: 2, sumMinor: 0 }]]) }) },
      /exactly once/,
    ],
    ['no repeat was there to be caught', { resent: 0 }, /caught by its key/],
    ['money that came from nowhere', { books: reconcileBooks({ ...books, ledgerSumMinor: 1 }) }, /sum is zero/],
    [
      'a balance that is wrong',
      { books: reconcileBooks({ ...books, wrongBalances: ['account-1'] }) },
      /every balance is right/,
    ],
    [
      'a payment that still waits',
      {
        books: reconcileBooks({
          ...books,
          notifications: new Map(),
          records: books.records.map((each) => ({ ...each, isPastNotifications: false })),
        }),
      },
      /left waiting/,
    ],
    [
      'told twice without a reason',
      { troubles: [], books: reconcileBooks({ ...books, notifications: new Map([['1', 2]]) }) },
      /notified twice/,
    ],
    ['a wrong answer', { complaints: ['a: 500'] }, /wrong answer/],
    [
      'memory that grows',
      {
        measures: [{ name: 'API', before: { heapBytes: 0, handles: 1 }, after: { heapBytes: 99_000_000, handles: 1 } }],
      },
      /memory did not grow/,
    ],
    [
      'handles that grow',
      { measures: [{ name: 'API', before: { heapBytes: 0, handles: 1 }, after: { heapBytes: 0, handles: 999 } }] },
      /handles did not grow/,
    ],
  ])('fails for %s', (_what, change, claim) => {
    expect(failures(change)).toEqual(expect.arrayContaining([expect.stringMatching(claim)]));
  });
});
