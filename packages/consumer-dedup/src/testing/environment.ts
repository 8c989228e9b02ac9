import type { BatchContextOf, ContextOf } from '../deduplicator.ts';
import type { DedupStore } from '../store.ts';

/** What a handler gets from any store. */
export type AnyContext = ContextOf<DedupStore> | BatchContextOf<DedupStore>;

/** What decides which cases make sense. */
export interface StoreTraits {
  readonly kind: DedupStore['kind'];
  /** Whether keys can be processed side by side; PGlite has one connection. */
  readonly concurrent: boolean;
}

/** What the suite needs to know about a store. All stores of one environment see the same keys. */
export interface ConformanceEnvironment extends StoreTraits {
  /** A store as one consumer process would have it. */
  store(): DedupStore;
  /** A store whose keys and settings no other case shares: for cases about retention. */
  isolatedStore(): Promise<DedupStore>;
  /** Does something that can be counted, the way a handler of this store should: a row written with the transaction's client. */
  effect(context: AnyContext, name: string): Promise<void>;
  /** How often the effect `name` is there to see. */
  effects(name: string): Promise<number>;
  /** How often races are repeated. 1,000 where a run is cheap. */
  readonly rounds: number;
}

/** One thing that every store must do. Belongs to no test framework: call `run` in a test of yours; it rejects when the store fails. */
export interface ConformanceCase {
  /** A sentence about behaviour. */
  readonly name: string;
  /** The rule it shows. */
  readonly rule: string;
  /** Where the case makes sense. */
  applies(traits: StoreTraits): boolean;
  run(environment: ConformanceEnvironment): Promise<void>;
}
