/** Kafka's numbers of the requests that tests aim at. */
export const apiKeys = { produce: 0, fetch: 1, metadata: 3, apiVersions: 18, initProducerId: 22 } as const;

/**
 * What may happen to one request or one reply on its way.
 *
 * - `lose-request`, `lose-reply`: it disappears, and so does everything behind it in that direction, since TCP can't lose a
 *   part in the middle. The connection stays open.
 * - `reset-in-request`, `reset-in-reply`: half of it passes, then the connection is reset on both sides.
 * - `reset-after-request`: the broker gets all of it, and the client a reset instead of the reply.
 * - `delay-request`, `delay-reply`: it, and everything behind it, waits.
 * - `trickle-reply`: it arrives in pieces with pauses.
 * - `hold-reply`: it, and everything behind it, waits until it is released.
 */
export type FaultKind =
  | 'lose-request'
  | 'lose-reply'
  | 'reset-in-request'
  | 'reset-in-reply'
  | 'reset-after-request'
  | 'delay-request'
  | 'delay-reply'
  | 'trickle-reply'
  | 'hold-reply';

export type Direction = 'request' | 'reply';

export const directionOf: Readonly<Record<FaultKind, Direction>> = {
  'lose-request': 'request',
  'lose-reply': 'reply',
  'reset-in-request': 'request',
  'reset-in-reply': 'reply',
  'reset-after-request': 'request',
  'delay-request': 'request',
  'delay-reply': 'reply',
  'trickle-reply': 'reply',
  'hold-reply': 'reply',
};

export interface FaultMatch {
  /** Which request, or replies to which; see {@link apiKeys}. Default: produce. `any` matches all. */
  readonly apiKey?: number | 'any';
  /** Only at this broker. */
  readonly brokerId?: number;
  /** Let so many matching ones pass first. Default 0. */
  readonly skip?: number;
  /** Hit so many, then no more. Default 1. */
  readonly times?: number;
  /** For delays; for `trickle-reply` the pause between pieces. Default 100. */
  readonly ms?: number;
}

/** A fault that was ordered. */
export interface OrderedFault {
  readonly hits: number;
  /** Resolves at the first hit. */
  readonly firstHit: Promise<void>;
  cancel(): void;
}

export interface PlannedFault {
  readonly kind: FaultKind;
  readonly ms: number;
  /** For `hold-reply`: resolves when the reply may go on. */
  readonly waitForRelease?: () => Promise<void>;
}

/** Replies that wait. */
export interface HeldReplies {
  /** How many connections have one waiting, with whatever is behind it. */
  readonly count: number;
  /** Lets them go on, and holds no others. */
  release(): void;
}

/** Chances per request and reply, each between 0 and 1. */
export type FaultRates = Partial<Readonly<Record<Exclude<FaultKind, 'hold-reply'>, number>>>;

class Rule implements OrderedFault {
  readonly kind: FaultKind;
  readonly #match: Required<Omit<FaultMatch, 'brokerId'>> & Pick<FaultMatch, 'brokerId'>;
  readonly firstHit: Promise<void>;
  #resolveFirstHit!: () => void;
  #seen = 0;
  #hits = 0;
  #isCancelled = false;

  readonly #waitForRelease: (() => Promise<void>) | undefined;

  constructor(kind: FaultKind, match: FaultMatch, waitForRelease?: () => Promise<void>) {
    this.kind = kind;
    this.#waitForRelease = waitForRelease;
    this.#match = { apiKey: apiKeys.produce, skip: 0, times: 1, ms: 100, ...match };
    this.firstHit = new Promise((resolve) => {
      this.#resolveFirstHit = resolve;
    });
  }

  get hits(): number {
    return this.#hits;
  }

  get isSpent(): boolean {
    return this.#isCancelled || this.#hits >= this.#match.times;
  }

  cancel(): void {
    this.#isCancelled = true;
  }

  take(brokerId: number, apiKey: number): PlannedFault | undefined {
    const { apiKey: wanted, brokerId: wantedBroker, skip, ms } = this.#match;
    if (this.isSpent || (wanted !== 'any' && wanted !== apiKey)) return undefined;
    if (wantedBroker !== undefined && wantedBroker !== brokerId) return undefined;
    if (this.#seen++ < skip) return undefined;
    this.#hits++;
    this.#resolveFirstHit();
    return { kind: this.kind, ms, ...(this.#waitForRelease && { waitForRelease: this.#waitForRelease }) };
  }
}

/** Random numbers in [0, 1) that depend on nothing but the seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Faults ordered one by one, and faults at random. */
export class FaultPlan {
  readonly counts = new Map<FaultKind, number>();
  /** Told of each fault as it happens, for a trace. */
  onFault: ((kind: FaultKind, brokerId: number, apiKey: number) => void) | undefined;
  readonly #requests = new Map<number, number>();
  readonly #releases: (() => void)[] = [];
  #rules: Rule[] = [];
  #rates: [FaultKind, number][] = [];
  #maxDelayMs = 0;
  #random = seededRandom(1);

  /** The next matching request or reply meets this. */
  order(kind: FaultKind, match: FaultMatch = {}): OrderedFault {
    const rule = new Rule(kind, match);
    this.#rules.push(rule);
    return rule;
  }

  /** The next matching replies wait until they are released; {@link calm} releases them too. */
  hold(match: FaultMatch = {}): HeldReplies {
    const released = Promise.withResolvers<void>();
    let count = 0;
    const rule = new Rule('hold-reply', match, async () => {
      count++;
      await released.promise;
      count--;
    });
    this.#rules.push(rule);
    const release = () => {
      rule.cancel();
      released.resolve();
    };
    this.#releases.push(release);
    return {
      get count() {
        return count;
      },
      release,
    };
  }

  /** Requests of one kind that came to the proxy, whatever became of them. */
  requestsSeen(apiKey: number): number {
    return this.#requests.get(apiKey) ?? 0;
  }

  /** From now on each request and reply meets faults at these rates; delays last up to `maxDelayMs`. */
  storm(rates: FaultRates, { seed = 1, maxDelayMs = 500 }: { seed?: number; maxDelayMs?: number } = {}): void {
    this.#rates = Object.entries(rates) as [FaultKind, number][];
    this.#maxDelayMs = maxDelayMs;
    this.#random = seededRandom(seed);
  }

  /** No more faults, neither ordered nor random. */
  calm(): void {
    this.#rates = [];
    this.#rules = [];
    for (const release of this.#releases.splice(0)) release();
  }

  next(direction: Direction, brokerId: number, apiKey: number): PlannedFault | undefined {
    if (direction === 'request') this.#requests.set(apiKey, this.requestsSeen(apiKey) + 1);
    const planned = this.#ordered(direction, brokerId, apiKey) ?? this.#atRandom(direction);
    if (planned) {
      this.counts.set(planned.kind, (this.counts.get(planned.kind) ?? 0) + 1);
      this.onFault?.(planned.kind, brokerId, apiKey);
    }
    return planned;
  }

  #ordered(direction: Direction, brokerId: number, apiKey: number): PlannedFault | undefined {
    this.#rules = this.#rules.filter((rule) => !rule.isSpent);
    for (const rule of this.#rules) {
      const planned = directionOf[rule.kind] === direction ? rule.take(brokerId, apiKey) : undefined;
      if (planned) return planned;
    }
    return undefined;
  }

  #atRandom(direction: Direction): PlannedFault | undefined {
    for (const [kind, rate] of this.#rates) {
      if (directionOf[kind] === direction && this.#random() < rate) {
        return { kind, ms: Math.ceil(this.#random() * this.#maxDelayMs) };
      }
    }
    return undefined;
  }
}
