/** What the parts of the system know, as it was read from each. */
export interface Books {
  /** What clients asked for. */
  readonly requests: readonly { readonly key: string; readonly paymentId: string; readonly isAccepted: boolean }[];
  /** Every record of the log; `isPast`: the consumer committed an offset behind it. */
  readonly records: readonly {
    readonly paymentId: string | null;
    readonly isPastLedger: boolean;
    readonly isPastNotifications: boolean;
  }[];
  /** By payment: how many entries, and their sum. */
  readonly entries: ReadonlyMap<string, { readonly count: number; readonly sumMinor: number }>;
  readonly refused: ReadonlySet<string>;
  readonly notifications: ReadonlyMap<string, number>;
  /** Of all entries; zero, or the ledger is wrong. */
  readonly ledgerSumMinor: number;
  /** Accounts whose balance is not the sum of their entries. */
  readonly wrongBalances: readonly string[];
  /** Null where brokers don't show it. */
  readonly batchesRecognised: number | null;
}

export type DifferenceKind =
  /** Accepted, and not in the log: lost. */
  | 'accepted-not-stored'
  /** The ledger went past its record without applying it. */
  | 'stored-not-applied'
  | 'applied-twice'
  | 'applied-not-stored'
  | 'entries-not-balanced'
  | 'stored-not-notified'
  /** Possible when a process dies between sending and its mark in Redis; in no other case. */
  | 'notified-twice';

export interface Difference {
  readonly paymentId: string;
  /** Null for a payment that nobody asked for. */
  readonly key: string | null;
  readonly kind: DifferenceKind;
}

export interface Reconciliation {
  /** Payments whose client was told that they are accepted, or may be told so when it asks again. */
  readonly accepted: number;
  /** Requested and not accepted so far: the client heard 503, or nothing yet, and may send again. */
  readonly pending: number;
  /** Of those, payments that were stored all the same, and so are applied. */
  readonly pendingStored: number;
  readonly recordsInLog: number;
  /** Different payments among them. */
  readonly paymentsInLog: number;
  /** Applied by the ledger. */
  readonly applied: number;
  /** Put aside by the ledger, with a reason. */
  readonly refused: number;
  readonly notified: number;
  /** In the log, and not read so far. */
  readonly waitingForLedger: number;
  readonly waitingForNotification: number;
  /** Batches that came again and that a broker recognised by their numbers; null where that can't be seen. */
  readonly duplicatesCaughtByBroker: number | null;
  /** Records that repeat a payment of the log, stored again by another session: passed over because of their key. */
  readonly duplicatesCaughtByKey: number;
  readonly ledgerSumMinor: number;
  readonly wrongBalances: readonly string[];
  /** Payments that differ between the books, by name. */
  readonly differences: readonly Difference[];
  /** No difference, and the ledger's sum and balances are right. */
  readonly isBalanced: boolean;
}

interface Stored {
  records: number;
  isPastLedger: boolean;
  isPastNotifications: boolean;
}

/** Compares the books. What is on its way is not a difference; it is counted as waiting. */
export function reconcileBooks(books: Books): Reconciliation {
  const stored = storedPayments(books.records);
  const keys = new Map(books.requests.map(({ paymentId, key }) => [paymentId, key]));
  const differences: Difference[] = [];
  const differs = (paymentId: string, kind: DifferenceKind): void =>
    void differences.push({ paymentId, key: keys.get(paymentId) ?? null, kind });

  for (const { paymentId, isAccepted } of books.requests) {
    if (isAccepted && !stored.has(paymentId)) differs(paymentId, 'accepted-not-stored');
  }
  let waitingForLedger = 0;
  let waitingForNotification = 0;
  let caughtByKey = 0;
  for (const [paymentId, { records, isPastLedger, isPastNotifications }] of stored) {
    const isDealtWith = books.entries.has(paymentId) || books.refused.has(paymentId);
    if (isDealtWith) caughtByKey += records - 1;
    else if (isPastLedger) differs(paymentId, 'stored-not-applied');
    else waitingForLedger++;
    if (books.notifications.has(paymentId)) continue;
    if (isPastNotifications) differs(paymentId, 'stored-not-notified');
    else waitingForNotification++;
  }
  for (const [paymentId, { count, sumMinor }] of books.entries) {
    if (!stored.has(paymentId)) differs(paymentId, 'applied-not-stored');
    if (count > 2) differs(paymentId, 'applied-twice');
    if (sumMinor !== 0 || count < 2) differs(paymentId, 'entries-not-balanced');
  }
  for (const [paymentId, times] of books.notifications) if (times > 1) differs(paymentId, 'notified-twice');

  const pending = books.requests.filter(({ isAccepted }) => !isAccepted);
  return {
    accepted: books.requests.length - pending.length,
    pending: pending.length,
    pendingStored: pending.filter(({ paymentId }) => stored.has(paymentId)).length,
    recordsInLog: books.records.length,
    paymentsInLog: stored.size,
    applied: books.entries.size,
    refused: books.refused.size,
    notified: books.notifications.size,
    waitingForLedger,
    waitingForNotification,
    duplicatesCaughtByBroker: books.batchesRecognised,
    duplicatesCaughtByKey: caughtByKey,
    ledgerSumMinor: books.ledgerSumMinor,
    wrongBalances: books.wrongBalances,
    differences,
    isBalanced: differences.length === 0 && books.ledgerSumMinor === 0 && books.wrongBalances.length === 0,
  };
}

function storedPayments(records: Books['records']): Map<string, Stored> {
  const stored = new Map<string, Stored>();
  for (const { paymentId, isPastLedger, isPastNotifications } of records) {
    if (paymentId === null) continue;
    const known = stored.get(paymentId);
    if (known === undefined) stored.set(paymentId, { records: 1, isPastLedger, isPastNotifications });
    else {
      known.records++;
      known.isPastLedger ||= isPastLedger;
      known.isPastNotifications ||= isPastNotifications;
    }
  }
  return stored;
}
