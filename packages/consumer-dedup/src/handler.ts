/** What the handler of one message gets from a store with leases. */
export interface LeaseContext {
  /**
   * The claim's fencing token. Write it with the effect and refuse a lower one, and a handler that lost its lease can
   * do no harm (rule D4).
   */
  readonly fence: number;
  /** How many claims of the key the store knows of; above 1, an earlier try failed, or died in an unknown place. */
  readonly attempt: number;
  /** Aborted when the lease is lost: another consumer may be processing the key. */
  readonly signal: AbortSignal;
}

/** The same for a batch; `fences` and `attempts` go with the messages the handler was given, by index. */
export interface LeaseBatchContext {
  readonly fences: readonly number[];
  readonly attempts: readonly number[];
  /** Aborted when one of the leases is lost. */
  readonly signal: AbortSignal;
}

/** What a handler gets from a store with transactions, for one message or for a batch. */
export interface TransactionContext<Client> {
  /** Write the effect with this client: it commits with the claim, or not at all (rule D3). */
  readonly client: Client;
  /** Grows when the database made us run the handler again in a fresh transaction. */
  readonly attempt: number;
}

export type Handler<M, Context, R> = (message: M, context: Context) => R | Promise<R>;

/**
 * Gets the messages of a batch that are fresh, in their order; never an empty list. Returns nothing, or one result per
 * message it was given.
 */
export type BatchHandler<M, Context, R> =
  | ((fresh: readonly M[], context: Context) => readonly R[] | Promise<readonly R[]>)
  | ((fresh: readonly M[], context: Context) => void);

/**
 * `batch`: the handler gets all fresh messages at once, and when it fails they all fail. `message`: when it fails, each
 * is tried alone, so that one poison message does not hold up the rest.
 */
export type Isolation = 'batch' | 'message';
