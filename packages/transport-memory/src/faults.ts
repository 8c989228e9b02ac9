import { batchHeaderBytes, headerAt } from '@sendonce/producer-core/record-batch';
import { ConfigError, type Runtime } from '@sendonce/producer-core/transport';
import { type DelayRange, drawDelayMs } from './delay-line.ts';
import { emptyPlan, type FaultPlan, type Struck } from './fault-plan.ts';
import {
  type DelayOption,
  delay,
  describe,
  duration,
  number,
  oneOf,
  optional,
  readOptions,
  text,
  wholeNumber,
} from './option-reader.ts';
import type { ApiName, ClusterRequest } from './requests.ts';

/** Which requests a fault strikes. What is left out matches everything; a produce request matches by any of its partitions. */
export interface FaultMatch {
  /** Default: `produce`. */
  readonly api?: ApiName;
  /** Of a produce or a metadata request; a metadata request matches by any of its topics. */
  readonly topic?: string;
  /** Of a produce request. */
  readonly partition?: number;
  /** Broker id. */
  readonly broker?: number;
  /** Base sequence of a batch in the request. */
  readonly baseSequence?: number;
  /** Strike from the nth matching request on, counted from now. Default 1: the next one. */
  readonly nth?: number;
  /** How many requests to strike. Default 1; Infinity until cancelled. */
  readonly times?: number;
}

/** A fault that waits for its requests. */
export interface ArmedFault {
  /** Requests struck so far. */
  readonly strikes: number;
  cancel(): void;
}

/** Replies that wait on the way. */
export interface HeldReplies extends ArmedFault {
  /** How many wait now. */
  readonly count: number;
  /** Lets them go on, in order. Where the client closed the connection meanwhile they are lost. */
  release(): void;
}

/** Probabilities, 0 to 1, for each request of any kind. */
export interface FaultRates {
  readonly loseRequest?: number;
  readonly loseReply?: number;
  readonly delayRequest?: number;
  readonly delayReply?: number;
  /** How long what is delayed is delayed. Default 0 to 1000. */
  readonly delayMs?: DelayOption;
  readonly duplicate?: number;
  /** How long after the request its copy arrives. Default 0 to 1000. */
  readonly duplicateAfterMs?: DelayOption;
  /** The connection is reset before the request arrives. */
  readonly resetBefore?: number;
  /** The connection is reset after the request was carried out, before its reply. */
  readonly resetAfter?: number;
}

type ReadRates = { readonly [K in keyof FaultRates]-?: K extends `${string}Ms` ? DelayRange : number };

type ReadMatch = Pick<FaultMatch, 'topic' | 'partition' | 'broker' | 'baseSequence'> & {
  readonly api: ApiName;
  readonly nth: number;
  readonly times: number;
};

interface Armed {
  readonly match: ReadMatch;
  readonly strike: (plan: FaultPlan, struck: readonly Struck[]) => void;
  seen: number;
  strikes: number;
}

export type When = 'before' | 'after';

/**
 * Things that go wrong on purpose, on the way to a broker or inside it. A fault strikes once unless `times` says otherwise;
 * several may strike one request. What it was is decided when the request leaves. Each strike is an event of the cluster.
 *
 * Every method throws a `ConfigError` for a wrong argument.
 */
export class Faults {
  readonly #runtime: Runtime;
  readonly #slowProducerIds: (delay: DelayRange | null) => void;
  readonly #held = new Set<() => void>();
  #armed: Armed[] = [];
  #rates: ReadRates | null = null;

  constructor(runtime: Runtime, slowProducerIds: (delay: DelayRange | null) => void) {
    this.#runtime = runtime;
    this.#slowProducerIds = slowProducerIds;
  }

  /** The request never arrives, nobody answers, and the connection stays open: a proxy swallowed it. */
  loseRequest(match: FaultMatch = {}): ArmedFault {
    return this.#arm(match, (plan) => {
      plan.loseRequest = true;
    });
  }

  /** The request is carried out, and its reply swallowed. The connection stays open. */
  loseReply(match: FaultMatch = {}): ArmedFault {
    return this.#arm(match, (plan) => {
      plan.loseReply = true;
    });
  }

  /**
   * The request, or its reply, takes that much longer, and holds up what comes behind it on the same connection. A request on
   * its way arrives even after its client has given up and closed.
   */
  delay(match: FaultMatch, by: { readonly requestMs?: number; readonly replyMs?: number }): ArmedFault {
    const { requestMs, replyMs } = readOptions<{ requestMs: number; replyMs: number }>('delay', by, {
      requestMs: (given = 0, field) => duration(given, field),
      replyMs: (given = 0, field) => duration(given, field),
    });
    return this.#arm(match, (plan) => {
      plan.requestDelayMs += requestMs;
      plan.replyDelayMs += replyMs;
    });
  }

  /** The request is carried out, and its reply waits until it is released. */
  holdReplies(match: FaultMatch = {}): HeldReplies {
    const waiting: (() => void)[] = [];
    const holder = { hold: (go: () => void) => void waiting.push(go) };
    const armed = this.#arm(match, (plan) => {
      plan.holder = holder;
    });
    const release = (): void => {
      for (const go of waiting.splice(0)) go();
    };
    this.#held.add(release);
    return {
      get strikes() {
        return armed.strikes;
      },
      get count() {
        return waiting.length;
      },
      cancel: () => armed.cancel(),
      release,
    };
  }

  /** The request arrives a second time, `afterMs` (default 0) after the first, whatever became of its connection. */
  duplicate(match: FaultMatch = {}, { afterMs = 0 }: { readonly afterMs?: number } = {}): ArmedFault {
    duration(afterMs, 'afterMs');
    return this.#arm(match, (plan) => {
      plan.duplicateAfterMs = afterMs;
    });
  }

  /**
   * The connection is reset: `before` (default) the request arrives, or `after` it was carried out, in place of its reply.
   * Requests written before it are carried out, and not answered either.
   */
  resetConnection(match: FaultMatch = {}, when: When = 'before'): ArmedFault {
    readWhen(when);
    return this.#arm(match, (plan) => {
      plan.reset = when;
    });
  }

  /** The broker is killed: `before` it looks at the request, or `after` (default) it was carried out and replicated, in place of its reply. */
  kill(match: FaultMatch = {}, when: When = 'after'): ArmedFault {
    readWhen(when);
    return this.#arm(match, (plan) => {
      plan.kill = when;
    });
  }

  /**
   * Answers with an error: `before` (default) the broker looks at the batch, or `after` it was stored, in place of its answer.
   * Of a produce request only the partitions that match get it, of a metadata request the topic that was named, or else the whole.
   */
  answerWith(
    errorCode: number,
    match: FaultMatch = {},
    { when = 'before', logStartOffset = -1n }: { readonly when?: When; readonly logStartOffset?: bigint } = {},
  ): ArmedFault {
    readWhen(when);
    if (!Number.isSafeInteger(errorCode) || errorCode === 0) {
      throw new ConfigError(`errorCode must be a Kafka error code other than 0, not ${describe(errorCode)}`, [
        'errorCode',
      ]);
    }
    if (typeof logStartOffset !== 'bigint')
      throw new ConfigError('logStartOffset must be a bigint', ['logStartOffset']);
    return this.#arm(match, (plan, struck) => {
      const answer = { errorCode, when, logStartOffset };
      if (struck.length === 0) plan.answers.push({ ...answer, where: null });
      for (const where of struck) plan.answers.push({ ...answer, where });
    });
  }

  /** Until `clear`: how long brokers wait for a block of producer ids, answering COORDINATOR_LOAD_IN_PROGRESS (14) meanwhile. */
  delayProducerIdBlocks(delayMs: DelayOption): void {
    this.#slowProducerIds(delay(0)(delayMs, 'delayMs'));
  }

  /** Lets chance strike each request. Replaces the rates before. */
  rates(rates: FaultRates): void {
    const rate = number(0, { min: 0, max: 1 });
    this.#rates = readOptions<ReadRates>('rates', rates, {
      loseRequest: rate,
      loseReply: rate,
      delayRequest: rate,
      delayReply: rate,
      delayMs: delay({ minMs: 0, maxMs: 1_000 }),
      duplicate: rate,
      duplicateAfterMs: delay({ minMs: 0, maxMs: 1_000 }),
      resetBefore: rate,
      resetAfter: rate,
    });
  }

  /** Takes back every fault and rate, and releases what is held. What struck already, takes its course. */
  clear(): void {
    this.#armed = [];
    this.#rates = null;
    this.#slowProducerIds(null);
    for (const release of this.#held) release();
    this.#held.clear();
  }

  /** Decides what becomes of a request that leaves now. Null: nothing goes wrong. */
  plan(brokerId: number, request: ClusterRequest): FaultPlan | null {
    if (this.#armed.length === 0 && this.#rates === null) return null;
    let plan: FaultPlan | null = null;
    for (const armed of [...this.#armed]) {
      const struck = matching(armed.match, brokerId, request);
      if (struck === null || ++armed.seen < armed.match.nth) continue;
      plan ??= emptyPlan();
      armed.strike(plan, struck);
      if (++armed.strikes >= armed.match.times) this.#armed = this.#armed.filter((other) => other !== armed);
    }
    return this.#rates === null ? plan : this.#planByChance(plan ?? emptyPlan(), this.#rates);
  }

  #planByChance(plan: FaultPlan, rates: ReadRates): FaultPlan {
    const strikes = (rate: number): boolean => rate > 0 && this.#runtime.random() < rate;
    if (strikes(rates.loseRequest)) plan.loseRequest = true;
    if (strikes(rates.loseReply)) plan.loseReply = true;
    if (strikes(rates.delayRequest)) plan.requestDelayMs += drawDelayMs(rates.delayMs, this.#runtime);
    if (strikes(rates.delayReply)) plan.replyDelayMs += drawDelayMs(rates.delayMs, this.#runtime);
    if (strikes(rates.duplicate)) plan.duplicateAfterMs = drawDelayMs(rates.duplicateAfterMs, this.#runtime);
    if (strikes(rates.resetBefore)) plan.reset = 'before';
    else if (strikes(rates.resetAfter)) plan.reset = 'after';
    return plan;
  }

  #arm(match: FaultMatch, strike: Armed['strike']): ArmedFault {
    const read = readOptions<ReadMatch>('match', match, {
      api: oneOf(['produce', 'initProducerId', 'metadata'], 'produce'),
      topic: optional(text),
      partition: optional(wholeNumber(0)),
      broker: optional(wholeNumber(0)),
      baseSequence: optional(wholeNumber(0)),
      nth: wholeNumber(1, { min: 1 }),
      times: (given = 1, field) =>
        given === Number.POSITIVE_INFINITY ? given : wholeNumber(1, { min: 1 })(given, field),
    });
    checkApplies(read);
    const armed: Armed = { match: read, strike, seen: 0, strikes: 0 };
    this.#armed.push(armed);
    return {
      get strikes() {
        return armed.strikes;
      },
      cancel: () => {
        this.#armed = this.#armed.filter((other) => other !== armed);
      },
    };
  }
}

const readWhen = (given: unknown): When => oneOf(['before', 'after'], 'before')(given, 'when');

/** What other requests are not about, they could never match by. */
function checkApplies({ api, ...match }: ReadMatch): void {
  const fields: readonly (keyof typeof match)[] =
    api === 'produce'
      ? []
      : api === 'metadata'
        ? ['partition', 'baseSequence']
        : ['topic', 'partition', 'baseSequence'];
  const wrong = fields.find((field) => match[field] !== undefined);
  if (wrong === undefined) return;
  throw new ConfigError(`match: a request of api "${api}" has no ${wrong}, so none could match`, [wrong, 'api']);
}

/** What of the request matches: empty for the request as a whole, null when it does not match. */
function matching(match: ReadMatch, brokerId: number, request: ClusterRequest): readonly Struck[] | null {
  if (match.api !== request.api || (match.broker !== undefined && match.broker !== brokerId)) return null;
  if (request.api === 'metadata' && match.topic !== undefined) {
    return request.topics.includes(match.topic) ? [{ topic: match.topic, partition: null }] : null;
  }
  if (request.api !== 'produce') return [];
  const struck = request.produce.partitions.filter(
    ({ topic, partition, batch }) =>
      (match.topic === undefined || match.topic === topic) &&
      (match.partition === undefined || match.partition === partition) &&
      (match.baseSequence === undefined || match.baseSequence === baseSequenceOf(batch)),
  );
  return struck.length > 0 ? struck : null;
}

function baseSequenceOf(batch: Uint8Array): number | null {
  if (batch.length < batchHeaderBytes) return null;
  return new DataView(batch.buffer, batch.byteOffset).getInt32(headerAt.baseSequence);
}
