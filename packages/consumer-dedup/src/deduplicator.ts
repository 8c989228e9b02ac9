import { type Found, failed, groupByKey, nextOffsets, type Read, spread } from './batch-plan.ts';
import { checkHandler, checkIsolation, MAX_BATCH_MESSAGES } from './call-checks.ts';
import { DedupConfigError, DedupError, KeyError, ResultError, StoreUnavailableError } from './errors.ts';
import { createFingerprintReader, type FingerprintReader } from './fingerprint.ts';
import type {
  BatchHandler,
  Handler,
  Isolation,
  LeaseBatchContext,
  LeaseContext,
  TransactionContext,
} from './handler.ts';
import { callHook, type MessageWatch, type OutcomeEvent, observed } from './hooks.ts';
import {
  createEachBatch,
  createEachMessage,
  type EachBatch,
  type EachBatchOptions,
  type EachMessage,
  type EachMessageOptions,
} from './kafkajs.ts';
import { createKeyReader, type KeyReader, positionKey } from './key.ts';
import { LeaseRunner } from './lease-runner.ts';
import { type ConsumedMessage, type MessageSource, sourceOf, type TopicPartition } from './message.ts';
import { type DeduplicatorOptions, resolveOptions, type Settings } from './options.ts';
import type { Failed, Outcome } from './outcome.ts';
import type { Job, Runner } from './runner.ts';
import type { DedupStore, MaintenanceStep, StoredOffset, TransactionStore } from './store.ts';
import { withTimeout } from './timeout.ts';
import { TransactionRunner } from './transaction-runner.ts';
import { noteOf, runWatched, watchMessages } from './watched-message.ts';

/** What the handler of one message gets, given the store. */
export type ContextOf<S extends DedupStore> =
  S extends TransactionStore<infer Client> ? TransactionContext<Client> : LeaseContext;

/** What the handler of a batch gets, given the store. */
export type BatchContextOf<S extends DedupStore> =
  S extends TransactionStore<infer Client> ? TransactionContext<Client> : LeaseBatchContext;

export interface BatchOptions {
  /** `'batch'` by default. */
  readonly isolate?: Isolation;
  /** Where the messages lie, when they don't say themselves. */
  readonly at?: TopicPartition;
}

/** Processes each business event once, as far as its store's guarantee goes (see the README's matrix). */
export interface Deduplicator<S extends DedupStore, M extends ConsumedMessage = ConsumedMessage> {
  /**
   * Runs `handler` if the message's key is fresh. Never rejects: everything that can go wrong is an outcome, the handler's
   * own error included. Commit the message's offset only after a committable one: see `committable()`, or use the adapters.
   *
   * `at` says where the message lies when it does not say itself.
   */
  process<T extends M, R>(message: T, handler: Handler<T, ContextOf<S>, R>, at?: TopicPartition): Promise<Outcome<R>>;
  /**
   * The same for many messages at once; the handler gets the fresh ones. One outcome per message, in order. At most
   * {@link MAX_BATCH_MESSAGES}; more reject with {@link DedupConfigError}, and nothing is processed.
   */
  processBatch<T extends M, R>(
    messages: readonly T[],
    handler: BatchHandler<T, BatchContextOf<S>, R>,
    options?: BatchOptions,
  ): Promise<Outcome<R | undefined>[]>;
  /** A kafkajs `eachMessage`: throws after an outcome that may not be committed, so that kafkajs delivers the message again. */
  eachMessage<T extends M, R>(handler: Handler<T, ContextOf<S>, R>, options?: EachMessageOptions<T>): EachMessage<T>;
  /** A kafkajs `eachBatch`: resolves offsets as it goes, and stops at the first message that may not be committed. */
  eachBatch<T extends M, R>(
    handler: BatchHandler<T, BatchContextOf<S>, R>,
    options?: EachBatchOptions<T>,
  ): EachBatch<T>;
  /** Checks the store, so that a wrong setup shows at start. Rejects with what is wrong; the first `process` does the same check. */
  ready(): Promise<void>;
  /** What `commitOffsets` has stored: where to go on reading each partition. */
  offsets(topics: readonly string[]): Promise<readonly StoredOffset[]>;
  /** One step of retention, if one is due. Transaction stores do this by themselves while messages are processed. */
  maintain(): Promise<MaintenanceStep>;
  /** Waits for what is running; later calls fail. The store's own connections stay the caller's to close. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Throws {@link DedupConfigError} for options that make no sense. Does not touch the store yet: see `ready()`. */
export function createDeduplicator<S extends DedupStore, M extends ConsumedMessage = ConsumedMessage>(
  options: DeduplicatorOptions<S, M>,
): Deduplicator<S, M> {
  return new StoreDeduplicator<S, M>(options.store, resolveOptions(options));
}

/** A step of retention is looked for this often: rarely enough to cost nothing, often enough that no step is late. */
const MAINTAIN_MOST_MS = 60_000;
const MAINTAIN_LOOKS_PER_RETENTION = 50;

class StoreDeduplicator<S extends DedupStore, M extends ConsumedMessage> implements Deduplicator<S, M> {
  readonly #store: DedupStore;
  readonly #settings: Settings;
  readonly #readKey: KeyReader;
  readonly #readFingerprint: FingerprintReader;
  readonly #runner: Runner<never>;
  readonly #running = new Set<Promise<unknown>>();
  readonly #maintainEveryMs: number;
  #maintainedMs = Number.NEGATIVE_INFINITY;
  #opened: Promise<void> | null = null;
  #closed = false;

  constructor(store: DedupStore, settings: Settings) {
    this.#store = store;
    this.#settings = settings;
    this.#readKey = createKeyReader(settings.key);
    this.#readFingerprint = createFingerprintReader(settings.fingerprint);
    const runner = store.kind === 'lease' ? new LeaseRunner(store, settings) : new TransactionRunner(store, settings);
    // The public types pair each store with its own context; inside, the pairing is this line.
    this.#runner = runner as Runner<never>;
    this.#maintainEveryMs = Math.min(MAINTAIN_MOST_MS, settings.retentionMs / MAINTAIN_LOOKS_PER_RETENTION);
  }

  async process<T extends M, R>(
    message: T,
    handler: Handler<T, ContextOf<S>, R>,
    at?: TopicPartition,
  ): Promise<Outcome<R>> {
    const contextOf = (this.#store.kind === 'lease' ? single : (context: unknown) => context) as (
      context: BatchContextOf<S>,
    ) => ContextOf<S>;
    const running = this.#run<T, R, BatchContextOf<S>>([message], at, 'batch', async (fresh, context) => [
      await handler(fresh[0]!, contextOf(context)),
    ]);
    return (await this.#track(running))[0]!;
  }

  async processBatch<T extends M, R>(
    messages: readonly T[],
    handler: BatchHandler<T, BatchContextOf<S>, R>,
    { isolate = 'batch', at }: BatchOptions = {},
  ): Promise<Outcome<R | undefined>[]> {
    if (!Array.isArray(messages)) throw new DedupConfigError('messages: must be an array', ['messages']);
    checkHandler(handler);
    if (messages.length > MAX_BATCH_MESSAGES) {
      throw new DedupConfigError(`messages: ${messages.length} in one call; pass at most ${MAX_BATCH_MESSAGES}`, [
        'messages',
      ]);
    }
    checkIsolation(isolate);
    return this.#track(
      this.#run<T, R | undefined, BatchContextOf<S>>(messages, at, isolate, async (fresh, context) => {
        const results: unknown = await handler(fresh, context);
        if (!Array.isArray(results)) return fresh.map(() => undefined);
        if (results.length === fresh.length) return results as readonly R[];
        throw new ResultError(
          `the handler was given ${fresh.length} messages and returned ${results.length} results; return one each, or nothing`,
        );
      }),
    );
  }

  eachMessage<T extends M, R>(handler: Handler<T, ContextOf<S>, R>, options?: EachMessageOptions<T>): EachMessage<T> {
    checkHandler(handler);
    return createEachMessage((message, at) => this.process(message, handler, at), options);
  }

  eachBatch<T extends M, R>(
    handler: BatchHandler<T, BatchContextOf<S>, R>,
    options?: EachBatchOptions<T>,
  ): EachBatch<T> {
    checkHandler(handler);
    return createEachBatch((messages, batch) => this.processBatch(messages, handler, batch), options);
  }

  ready(): Promise<void> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = null;
      throw error;
    });
    return this.#opened;
  }

  async offsets(topics: readonly string[]): Promise<readonly StoredOffset[]> {
    if (this.#store.kind === 'lease' || !this.#settings.commitOffsets) {
      throw new DedupConfigError('commitOffsets: is off, so no offsets are stored; turn it on', ['commitOffsets']);
    }
    await this.ready();
    return this.#store.offsets(this.#settings.namespace, topics);
  }

  async maintain(): Promise<MaintenanceStep> {
    if (this.#store.kind === 'lease') return 'none';
    await this.ready();
    return this.#store.maintain();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#running);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run<T extends M, R, Context>(
    messages: readonly T[],
    at: TopicPartition | undefined,
    isolate: Isolation,
    invoke: (fresh: readonly T[], context: Context) => Promise<readonly R[]>,
  ): Promise<Outcome<R>[]> {
    const startMs = performance.now();
    const sources = messages.map((message) => readSource(message, at));
    const watches = watchMessages(this.#settings.hooks, messages, (index) => placeOf(sources[index]!));
    const reads = messages.map((message, index) =>
      this.#read(message, sources[index]!, index, watches === null ? null : noteOf(watches[index])),
    );
    const groups = groupByKey(reads);
    const job: Job<T, R, Context> = {
      groups,
      isolate,
      invoke: (fresh, context) =>
        invoke(
          fresh.map(({ message }) => message),
          context,
        ),
      offsetsAfter: (found) => (this.#settings.commitOffsets ? nextOffsets(sources, spread(reads, groups, found)) : []),
    };
    const watch = watches?.length === 1 ? watches[0] : undefined;
    const outcomes = spread(reads, groups, await runWatched(watch, () => this.#find(job)));
    this.#report(sources, outcomes, performance.now() - startMs, watches);
    return outcomes;
  }

  async #find<T, R, Context>(job: Job<T, R, Context>): Promise<Found<T, R>> {
    if (job.groups.length === 0) return new Map();
    try {
      if (this.#closed) throw new DedupError('the deduplicator is closed; create a new one', { code: 'CLOSED' });
      await this.ready();
    } catch (error) {
      return new Map(job.groups.map((group) => [group, failed(group, 'store', error)]));
    }
    const found = await (this.#runner as Runner<Context>).run(job);
    this.#maintainWhenDue();
    return found;
  }

  async #open(): Promise<void> {
    const { retentionMs, storeTimeoutMs } = this.#settings;
    const store = this.#store;
    const opening = store.kind === 'lease' ? store.open() : store.open(retentionMs);
    await withTimeout(opening, storeTimeoutMs, `opening the ${store.name} store`).catch((cause: unknown) => {
      if (cause instanceof DedupError) throw cause;
      throw new StoreUnavailableError(`the ${store.name} store can't be reached; nothing may be committed`, { cause });
    });
  }

  #read<T extends M>(message: T, source: MessageSource | Failed, index: number, note: string | null): Read<T> {
    if ('status' in source) return source;
    try {
      const { onMissingKey, commitOffsets } = this.#settings;
      if (commitOffsets && (source.topic === null || source.partition === null || source.offset === null)) {
        throw new DedupConfigError('commitOffsets: is on, and the message has no topic, partition and offset', [
          'commitOffsets',
        ]);
      }
      const key = this.#readKey(message) ?? (onMissingKey === 'use-position' ? positionKey(source) : null);
      if (key === null) {
        throw new KeyError(
          "the message has no key where the option `key` looks; let the producer set it, or set onMissingKey: 'use-position'",
          'MISSING_KEY',
        );
      }
      return { message, index, key, source, fingerprint: this.#readFingerprint(message), note };
    } catch (error) {
      return unreadable(error);
    }
  }

  #report(
    sources: readonly (MessageSource | Failed)[],
    outcomes: readonly Outcome[],
    durationMs: number,
    watches: readonly (MessageWatch | undefined)[] | null,
  ): void {
    const { hooks } = this.#settings;
    if (hooks.onOutcome === undefined && watches === null) return;
    for (const [index, outcome] of outcomes.entries()) {
      const event = this.#event(placeOf(sources[index]!), outcome, durationMs);
      const watch = watches?.[index];
      if (watch !== undefined) callHook(watch, watch.onOutcome, () => event);
      callHook(hooks, hooks.onOutcome, () => event);
    }
  }

  #event(source: MessageSource, outcome: Outcome, durationMs: number): OutcomeEvent {
    const { status, key } = outcome;
    return {
      namespace: this.#settings.namespace,
      store: this.#store.name,
      source,
      status,
      key,
      reason: status === 'failed' ? outcome.reason : null,
      error: status === 'failed' || status === 'in-progress' ? outcome.error : null,
      first: status === 'duplicate' || status === 'conflict' ? outcome.first : null,
      durationMs,
    };
  }

  /** Beside the messages, not before them: no message waits for it, and its failure is an event alone. */
  #maintainWhenDue(): void {
    const store = this.#store;
    if (store.kind === 'lease' || performance.now() - this.#maintainedMs < this.#maintainEveryMs) return;
    this.#maintainedMs = performance.now();
    const maintaining = observed(this.#settings, store.name, 'maintain', 0, () => store.maintain());
    void this.#track(maintaining.catch(() => undefined));
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    const forget = (): void => void this.#running.delete(work);
    work.then(forget, forget);
    return work;
  }
}

const NOWHERE: MessageSource = { topic: null, partition: null, offset: null };

function placeOf(source: MessageSource | Failed): MessageSource {
  return 'status' in source ? NOWHERE : source;
}

function readSource(message: ConsumedMessage, at: TopicPartition | undefined): MessageSource | Failed {
  try {
    return sourceOf(message, at);
  } catch (error) {
    return unreadable(error);
  }
}

function unreadable(error: unknown): Failed {
  return { status: 'failed', key: null, reason: 'message', error };
}

/** A batch of one, as its handler sees it. */
function single({ fences, attempts, signal }: LeaseBatchContext): LeaseContext {
  return { fence: fences[0]!, attempt: attempts[0]!, signal };
}
