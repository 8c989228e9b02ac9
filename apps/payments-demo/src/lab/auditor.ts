import type { Reconciliation } from '../system/reconcile/reconciliation.ts';
import type { AuditView } from './snapshot.ts';
import { count } from './words.ts';

export type Verdict = Pick<AuditView, 'verdict' | 'verdictText'>;

export interface AuditorOptions {
  readonly reconcile: () => Promise<Reconciliation>;
  /** Whether something is on its way that is known of. */
  readonly isBusy: () => boolean;
  readonly onChange: () => void;
}

const quietMs = 150;
/** Reconciling reads all there is: it takes at most a quarter of the time, however much that becomes. */
const pausePerDuration = 3;

/** Reconciles the books after everything that happens, once it is quiet, and now and then while it is not. */
export class Auditor {
  readonly #options: AuditorOptions;
  #timer: NodeJS.Timeout | null = null;
  #isRunning = false;
  #isStale = false;
  #isClosed = false;
  #notBeforeMs = 0;
  #last: Reconciliation | null = null;
  #failure: string | null = null;

  constructor(options: AuditorOptions) {
    this.#options = options;
  }

  /** The ledger's own sum, as it was read last. */
  get ledgerSumMinor(): number {
    return this.#last?.ledgerSumMinor ?? 0;
  }

  get verdict(): Verdict {
    if (this.#failure !== null)
      return { verdict: 'settling', verdictText: `The books can’t be read now: ${this.#failure}` };
    const last = this.#last;
    if (last === null) return { verdict: 'waiting', verdictText: 'Nothing was sent so far.' };
    if (last.differences.length > 0 || !last.isBalanced)
      return { verdict: 'differs', verdictText: differenceText(last) };
    if (this.#options.isBusy() || last.waitingForLedger > 0)
      return {
        verdict: 'settling',
        verdictText: 'In motion. At the last look nothing was lost, and nothing applied twice.',
      };
    if (this.#isStale) return { verdict: 'settling', verdictText: 'Everything has arrived. Comparing the books.' };
    if (last.recordsInLog === 0 && last.accepted === 0)
      return { verdict: 'waiting', verdictText: 'Nothing was sent so far.' };
    return { verdict: 'balanced', verdictText: balanceText(last) };
  }

  /** Something happened: what was found is out of date. */
  changed(): void {
    this.#isStale = true;
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#isClosed || this.#timer !== null || this.#isRunning) return;
    const waitMs = Math.max(quietMs, this.#notBeforeMs - performance.now());
    this.#timer = setTimeout(() => void this.#look(), waitMs);
  }

  async #look(): Promise<void> {
    this.#timer = null;
    this.#isRunning = true;
    this.#isStale = false;
    const startedAtMs = performance.now();
    try {
      this.#last = await this.#options.reconcile();
      this.#failure = null;
    } catch (error) {
      this.#failure = (error as Error).message;
      this.#isStale = true;
    }
    const endedAtMs = performance.now();
    this.#notBeforeMs = endedAtMs + pausePerDuration * (endedAtMs - startedAtMs);
    this.#isRunning = false;
    if (this.#isStale || (this.#last?.waitingForLedger ?? 0) > 0) this.#schedule();
    this.#options.onChange();
  }
}

function balanceText({
  recordsInLog,
  applied,
  duplicatesCaughtByKey,
  refused,
  pending,
  pendingStored,
}: Reconciliation): string {
  const parts = [`${count(applied, 'payment')} applied`];
  if (duplicatesCaughtByKey > 0) parts.push(`${duplicatesCaughtByKey} caught by the key`);
  if (refused > 0) parts.push(`${refused} put aside`);
  const balance = `Balanced: ${count(recordsInLog, 'record')} in the log = ${parts.join(' + ')}. Every accepted payment is applied exactly once.`;
  if (pending === 0) return balance;
  return `${balance} ${count(pending, 'payment')} not accepted, ${storedText(pending, pendingStored)}: resend asks again.`;
}

function storedText(pending: number, pendingStored: number): string {
  if (pending === 1) return pendingStored === 0 ? 'and not stored' : 'but stored, and applied once';
  return pendingStored === 0 ? 'none of them stored' : `${pendingStored} of them stored, and applied once`;
}

function differenceText({ differences, ledgerSumMinor, wrongBalances }: Reconciliation): string {
  const [first] = differences;
  if (first !== undefined)
    return `${count(differences.length, 'payment differs', 'payments differ')} between the books. The first is ${first.paymentId}: ${first.kind}.`;
  if (ledgerSumMinor !== 0) return `The ledger’s sum is ${ledgerSumMinor}, not zero.`;
  return `Balances that are not the sum of their entries: ${wrongBalances.join(', ')}.`;
}
