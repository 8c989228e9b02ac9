import { type Audit, audit, type SentPayment, type StoredPayment } from '../audit/audit.ts';
import type { Table } from '../narration/script.ts';

/** A record of the log, with the session of the service that sent it. */
export interface StoredInSession extends StoredPayment {
  readonly session: string;
}

export interface StormReport {
  /** One for each session of the service: what the producer and the broker guard. */
  readonly sessions: ReadonlyMap<string, Audit>;
  /** Payments that are in the log more than once, because different sessions sent them: what the consumer has to guard. */
  readonly repeatedAcrossSessions: number;
}

export function stormReport(
  sent: ReadonlyMap<string, readonly SentPayment[]>,
  stored: readonly StoredInSession[],
): StormReport {
  const sessions = new Map(
    [...sent].map(([session, payments]) => [
      session,
      audit(
        payments,
        stored.filter((record) => record.session === session),
      ),
    ]),
  );
  const sessionsOf = new Map<string, Set<string>>();
  for (const { paymentId, session } of stored) {
    sessionsOf.set(paymentId, (sessionsOf.get(paymentId) ?? new Set()).add(session));
  }
  const repeatedAcrossSessions = [...sessionsOf.values()].filter(({ size }) => size > 1).length;
  return { sessions, repeatedAcrossSessions };
}

export function auditTable({ sessions }: StormReport): Table {
  return {
    title: 'Audit: what the producer said, against what the log holds',
    columns: ['', ...sessions.keys()],
    rows: auditRows.map(([name, read]) => [name, ...[...sessions.values()].map(read)]),
  };
}

const auditRows: readonly [name: string, read: (audit: Audit) => number][] = [
  ['sent', ({ sent }) => sent],
  ['acknowledged', ({ acknowledged }) => acknowledged],
  ['failed', ({ failed }) => failed],
  ['stored', ({ stored }) => stored],
  ['stored twice', ({ duplicates }) => duplicates.length],
  ['acknowledged but lost', ({ lost }) => lost.length],
  ['acknowledged, at another offset', ({ misplaced }) => misplaced.length],
  ['acknowledged out of order', ({ outOfOrder }) => outOfOrder.length],
  ['said to be not stored, but stored', ({ falselyFailed }) => falselyFailed.length],
  ['stored, but never sent', ({ strangers }) => strangers.length],
];

/** Every way in which an audit can show a broken promise, summed over the sessions. Empty: it was kept. */
export function brokenPromises({ sessions }: StormReport): string[] {
  const kinds = ['duplicates', 'lost', 'misplaced', 'outOfOrder', 'falselyFailed', 'strangers'] as const;
  return [...sessions].flatMap(([session, result]) =>
    kinds.flatMap((kind) => result[kind].map((paymentId) => `${session}: ${kind} ${paymentId}`)),
  );
}
