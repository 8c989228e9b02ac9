/** What a caller was told of one record. */
export type Outcome =
  | { readonly kind: 'acknowledged'; readonly partition: number; readonly offset: number }
  | { readonly kind: 'failed'; readonly fate: 'not-stored' | 'unknown'; readonly code: string };

/** One record that a workload tried to send. */
export interface LedgerEntry {
  /** Place in the ledger: the order of the calls. */
  readonly id: number;
  readonly session: number;
  readonly topic: string;
  /** What the log must hold for it. */
  readonly value: string;
  readonly sentAtMs: number;
  settledAtMs: number;
  /** How often its caller heard of it. */
  settles: number;
  /** The first thing that its caller heard; null while there was nothing. */
  outcome: Outcome | null;
}

/** A producer heard that a topic was made again. */
export interface Recreation {
  /** The life of the topic that it heard of. */
  readonly life: number;
  /** The first entry that was sent after that: many things happen in one instant, so no clock tells. */
  readonly nextEntryId: number;
}

/** One producer from its creation to its end. */
export interface Session {
  readonly id: number;
  readonly idempotence: boolean;
  /** How long a record may stay unsettled while the process runs. */
  readonly settleWithinMs: number;
  /** When the process runs again after its last freeze. */
  frozenUntilMs: number;
  /** Its process died: what it had pending nobody will hear of. */
  crashed: boolean;
  /** What its producer said of topics that were made again, by topic, oldest first. */
  readonly recreations: Map<string, Recreation[]>;
  /** Topics of which its producer suspected a loss. */
  readonly suspected: Set<string>;
}

/** What was asked of the producers and what they answered: kept by the callers, as an application would see it. */
export class Ledger {
  readonly entries: LedgerEntry[] = [];
  readonly sessions: Session[] = [];
  pending = 0;
  readonly #nowMs: () => number;
  readonly #onSettled: (entry: LedgerEntry) => void;

  constructor(nowMs: () => number, onSettled: (entry: LedgerEntry) => void) {
    this.#nowMs = nowMs;
    this.#onSettled = onSettled;
  }

  openSession(idempotence: boolean, settleWithinMs: number): Session {
    const session: Session = {
      id: this.sessions.length,
      idempotence,
      settleWithinMs,
      frozenUntilMs: 0,
      crashed: false,
      recreations: new Map(),
      suspected: new Set(),
    };
    this.sessions.push(session);
    return session;
  }

  /** Notes a record that is about to be sent, filled up to `valueBytes`. */
  open(session: Session, topic: string, valueBytes: number): LedgerEntry {
    const id = this.entries.length;
    const entry: LedgerEntry = {
      id,
      session: session.id,
      topic,
      value: `${id}|`.padEnd(valueBytes, 'abcdefghijklmnopqrstuvwxyz'),
      sentAtMs: this.#nowMs(),
      settledAtMs: -1,
      settles: 0,
      outcome: null,
    };
    this.entries.push(entry);
    this.pending++;
    return entry;
  }

  recreated(session: Session, topic: string, life: number): void {
    const earlier = session.recreations.get(topic) ?? [];
    session.recreations.set(topic, [...earlier, { life, nextEntryId: this.entries.length }]);
  }

  settle(entry: LedgerEntry, outcome: Outcome): void {
    entry.settles++;
    if (entry.settles > 1) return;
    entry.outcome = outcome;
    entry.settledAtMs = this.#nowMs();
    this.pending--;
    this.#onSettled(entry);
  }

  /** The process died: nobody waits for its records any more. */
  crash(session: Session): void {
    session.crashed = true;
    for (const entry of this.entries) if (entry.session === session.id && entry.settles === 0) this.pending--;
  }
}

/** Which entry a value in the log belongs to; -1 when it is none. */
export function entryIdOf(value: string): number {
  const bar = value.indexOf('|');
  const id = bar < 0 ? Number.NaN : Number(value.slice(0, bar));
  return Number.isInteger(id) ? id : -1;
}
