import { LeaseLostError } from './errors.ts';
import type { LeaseCalls } from './lease-calls.ts';
import type { Lease } from './store.ts';

/** Renewing this often leaves room for two lost tries before a lease ends. */
const RENEWALS_PER_LEASE = 3;

/**
 * Renews the leases of one handler run. The signal is aborted when the store says that a lease was taken over, or when
 * the store could not be reached for so long that one may have been.
 */
export class LeaseKeeper {
  readonly #calls: LeaseCalls;
  readonly #leases: readonly Lease[];
  /** Keys whose loss the handler need not hear of. */
  readonly #handled = new Set<Buffer>();
  readonly #leaseMs: number;
  readonly #onLost: (lost: readonly Lease[]) => void;
  readonly #abort = new AbortController();
  /** By our clock, from before the request left: never later than the store's own end of the lease. */
  #heldUntilMs: number;
  #timer: NodeJS.Timeout | undefined;
  #state: 'keeping' | 'lost' | 'stopped' = 'keeping';

  constructor(
    calls: LeaseCalls,
    leases: readonly Lease[],
    leaseMs: number,
    claimSentMs: number,
    onLost: (lost: readonly Lease[]) => void,
  ) {
    this.#calls = calls;
    this.#leases = leases;
    this.#leaseMs = leaseMs;
    this.#heldUntilMs = claimSentMs + leaseMs;
    this.#onLost = onLost;
    this.#schedule();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /**
   * The handler is through with these, and their marks or their release are next: whether that comes too late, its own answer says. A
   * renewal finds such keys marked or released, which must not end the leases of the others.
   */
  handled(leases: readonly Lease[]): void {
    for (const { key } of leases) this.#handled.add(key);
  }

  stop(): void {
    if (this.#state === 'keeping') this.#state = 'stopped';
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const untilEndMs = Math.max(0, this.#heldUntilMs - performance.now());
    this.#timer = setTimeout(() => void this.#renew(), Math.min(this.#leaseMs / RENEWALS_PER_LEASE, untilEndMs));
    // The handler keeps the process alive, or nothing should.
    this.#timer.unref();
  }

  async #renew(): Promise<void> {
    const sentMs = performance.now();
    if (sentMs >= this.#heldUntilMs) return this.#lose(this.#leases.filter(this.#isUnhandled));
    const renewed = this.#calls.renew(this.#leases).then(
      (answers) => this.#answered(answers, sentMs),
      // Not reachable: tried again until the lease ends.
      () => undefined,
    );
    // The next try does not wait for an answer that may never come.
    this.#schedule();
    await renewed;
  }

  #answered(answers: readonly boolean[], sentMs: number): void {
    if (this.#state !== 'keeping') return;
    const lost = this.#leases.filter((lease, index) => answers[index] !== true && this.#isUnhandled(lease));
    if (lost.length > 0) this.#lose(lost);
    else this.#heldUntilMs = Math.max(this.#heldUntilMs, sentMs + this.#leaseMs);
  }

  readonly #isUnhandled = ({ key }: Lease): boolean => !this.#handled.has(key);

  #lose(lost: readonly Lease[]): void {
    if (this.#state !== 'keeping' || lost.length === 0) return;
    this.#state = 'lost';
    clearTimeout(this.#timer);
    this.#onLost(lost);
    this.#abort.abort(
      new LeaseLostError('the lease ended while the handler was running; another consumer may be processing the key'),
    );
  }
}
