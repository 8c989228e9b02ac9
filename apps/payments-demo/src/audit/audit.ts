/** A payment that was handed to the producer, and what came back. In send order. */
export interface SentPayment {
  readonly paymentId: string;
  readonly outcome: 'acknowledged' | 'not-stored' | 'unknown';
  /** Where the producer said it is stored; absent when it was not acknowledged. */
  readonly partition?: number;
  /** -1n: stored, but no answer said where. */
  readonly offset?: bigint;
}

/** A payment as it was read back from the log. */
export interface StoredPayment {
  readonly paymentId: string;
  readonly partition: number;
  readonly offset: bigint;
}

export interface Audit {
  readonly sent: number;
  readonly acknowledged: number;
  readonly failed: number;
  readonly stored: number;
  /** Stored again after the first time. */
  readonly duplicates: readonly string[];
  /** Acknowledged, and not in the log. */
  readonly lost: readonly string[];
  /** Acknowledged with an offset at which the log holds something else. */
  readonly misplaced: readonly string[];
  /** Acknowledged, and stored before one of its partition that was sent earlier. */
  readonly outOfOrder: readonly string[];
  /** Reported as certainly not stored, and stored all the same. */
  readonly falselyFailed: readonly string[];
  /** In the log, and never sent. */
  readonly strangers: readonly string[];
}

/** Compares what a producer said with what the log holds. It shares no code with either. */
export function audit(sent: readonly SentPayment[], stored: readonly StoredPayment[]): Audit {
  const places = new Map<string, StoredPayment>();
  const idAt = new Map<string, string>();
  const duplicates: string[] = [];
  for (const payment of stored) {
    const { paymentId, partition, offset } = payment;
    if (places.has(paymentId)) duplicates.push(paymentId);
    else places.set(paymentId, payment);
    idAt.set(`${partition}:${offset}`, paymentId);
  }

  const acknowledged = sent.filter(({ outcome }) => outcome === 'acknowledged');
  const lost = acknowledged.filter(({ paymentId }) => !places.has(paymentId));
  const misplaced = acknowledged.filter(
    ({ paymentId, partition, offset }) =>
      offset !== undefined && offset >= 0n && idAt.get(`${partition}:${offset}`) !== paymentId,
  );
  const newestOffset = new Map<number, bigint>();
  const outOfOrder = acknowledged.filter(({ paymentId }) => {
    const place = places.get(paymentId);
    if (place === undefined) return false;
    const newest = newestOffset.get(place.partition) ?? -1n;
    if (place.offset > newest) newestOffset.set(place.partition, place.offset);
    return place.offset < newest;
  });
  const falselyFailed = sent.filter(({ outcome, paymentId }) => outcome === 'not-stored' && places.has(paymentId));
  const sentIds = new Set(sent.map(({ paymentId }) => paymentId));

  const ids = (payments: readonly { readonly paymentId: string }[]) => payments.map(({ paymentId }) => paymentId);
  return {
    sent: sent.length,
    acknowledged: acknowledged.length,
    failed: sent.length - acknowledged.length,
    stored: stored.length,
    duplicates,
    lost: ids(lost),
    misplaced: ids(misplaced),
    outOfOrder: ids(outOfOrder),
    falselyFailed: ids(falselyFailed),
    strangers: [...places.keys()].filter((paymentId) => !sentIds.has(paymentId)),
  };
}
