import { afterEach, expect, it } from 'vitest';
import type { Reconciliation } from '../system/reconcile/reconciliation.ts';
import { Auditor, type AuditorOptions } from './auditor.ts';

const sound: Reconciliation = {
  accepted: 3,
  pending: 0,
  pendingStored: 0,
  recordsInLog: 4,
  paymentsInLog: 3,
  applied: 3,
  refused: 0,
  notified: 3,
  waitingForLedger: 0,
  waitingForNotification: 0,
  duplicatesCaughtByBroker: 1,
  duplicatesCaughtByKey: 1,
  ledgerSumMinor: 0,
  wrongBalances: [],
  differences: [],
  isBalanced: true,
};

let auditor: Auditor | null = null;
afterEach(() => auditor?.close());

/** An auditor that has had one look at these books. */
async function lookedAt(books: Partial<Reconciliation>, options: Partial<AuditorOptions> = {}) {
  const looked = Promise.withResolvers<void>();
  const subject = new Auditor({
    reconcile: async () => ({ ...sound, ...books }),
    isBusy: () => false,
    onChange: () => looked.resolve(),
    ...options,
  });
  auditor = subject;
  subject.changed();
  await looked.promise;
  return subject;
}

it('books that agree are balanced, and the sum is spelled out', async () => {
  const { verdict } = await lookedAt({});
  expect(verdict).toEqual({
    verdict: 'balanced',
    verdictText:
      'Balanced: 4 records in the log = 3 payments applied + 1 caught by the key. Every accepted payment is applied exactly once.',
  });
});

it.each([
  [1, '1 payment differs between the books. The first is p-1: applied-twice.'],
  [2, '2 payments differ between the books. The first is p-1: applied-twice.'],
])('of %i payments that differ the first is named', async (amount, verdictText) => {
  const differences = Array.from(
    { length: amount },
    (_, index) => ({ paymentId: `p-${index + 1}`, key: `k-${index + 1}`, kind: 'applied-twice' }) as const,
  );
  const { verdict } = await lookedAt({ differences, isBalanced: false });
  expect(verdict).toMatchObject({ verdict: 'differs', verdictText });
});

it.each([
  [{ ledgerSumMinor: 5, isBalanced: false }, 'sum is 5'],
  [{ wrongBalances: ['account-1'], isBalanced: false }, 'account-1'],
])('%j is a difference too', async (books, text) => {
  const { verdict } = await lookedAt(books);
  expect(verdict).toMatchObject({ verdict: 'differs', verdictText: expect.stringContaining(text) });
});

it.each([
  [1, 0, '1 payment not accepted, and not stored: resend asks again.'],
  [1, 1, '1 payment not accepted, but stored, and applied once: resend asks again.'],
  [2, 0, '2 payments not accepted, none of them stored: resend asks again.'],
  [2, 1, '2 payments not accepted, 1 of them stored, and applied once: resend asks again.'],
])('%i not accepted, %i of them stored: told, and no difference', async (pending, pendingStored, text) => {
  const { verdict } = await lookedAt({ pending, pendingStored });
  expect(verdict).toMatchObject({ verdict: 'balanced', verdictText: expect.stringContaining(text) });
});

it('nothing is called balanced while something is on its way, or was not looked at', async () => {
  expect((await lookedAt({ waitingForLedger: 1 })).verdict.verdict).toBe('settling');
  expect((await lookedAt({}, { isBusy: () => true })).verdict.verdict).toBe('settling');
  const subject = await lookedAt({});
  subject.changed();
  expect(subject.verdict.verdict).toBe('settling');
});

it('books that can’t be read are not balanced; it looks again', async () => {
  const verdicts: string[] = [];
  const recovered = Promise.withResolvers<void>();
  const subject = new Auditor({
    reconcile: async () => {
      if (verdicts.length === 0) throw new Error('the database is down');
      return sound;
    },
    isBusy: () => false,
    onChange: () => {
      verdicts.push(subject.verdict.verdictText);
      if (verdicts.length === 2) recovered.resolve();
    },
  });
  auditor = subject;
  subject.changed();
  await recovered.promise;
  expect(verdicts).toEqual(['The books can’t be read now: the database is down', expect.stringMatching(/^Balanced/)]);
});
