/** Something that happened in the cluster. `atMs` is the runtime's monotonic clock. */
export type ClusterEvent = { readonly atMs: number } & ClusterEventBody;

interface OfPartition {
  readonly topic: string;
  readonly partition: number;
}

interface OfReplica extends OfPartition {
  readonly brokerId: number;
}

interface OfRequest {
  readonly brokerId: number;
  readonly api: 'produce' | 'initProducerId' | 'metadata';
  /** The partitions of a produce request. */
  readonly partitions: readonly OfPartition[];
}

interface OfBatch extends OfReplica {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly recordCount: number;
}

export type ClusterEventBody =
  // Faults that were asked for.
  | ({ readonly type: 'request-lost' } & OfRequest)
  | ({ readonly type: 'reply-lost' } & OfRequest)
  | ({ readonly type: 'request-delayed'; readonly delayMs: number } & OfRequest)
  | ({ readonly type: 'reply-delayed'; readonly delayMs: number } & OfRequest)
  | ({ readonly type: 'request-duplicated'; readonly afterMs: number } & OfRequest)
  | ({ readonly type: 'connection-reset'; readonly when: 'before' | 'after' } & OfRequest)
  | ({ readonly type: 'error-injected'; readonly errorCode: number; readonly when: 'before' | 'after' } & OfRequest)
  // Connections. Opened ones and requests go to listeners only: they happen all the time.
  | { readonly type: 'connection-opened'; readonly brokerId: number }
  | ({ readonly type: 'request-sent' } & OfRequest)
  | { readonly type: 'request-timed-out'; readonly brokerId: number; readonly api: OfRequest['api'] }
  // Brokers and their controller.
  | { readonly type: 'broker-killed'; readonly brokerId: number }
  | { readonly type: 'broker-stopped'; readonly brokerId: number }
  | { readonly type: 'broker-started'; readonly brokerId: number }
  | { readonly type: 'broker-paused'; readonly brokerId: number }
  | { readonly type: 'broker-resumed'; readonly brokerId: number }
  | { readonly type: 'broker-fenced'; readonly brokerId: number }
  | { readonly type: 'producer-id-block'; readonly brokerId: number; readonly firstId: bigint; readonly size: number }
  | { readonly type: 'controller-restarted' }
  | { readonly type: 'topic-created'; readonly topic: string; readonly topicId: string; readonly partitions: number }
  | { readonly type: 'topic-deleted'; readonly topic: string; readonly topicId: string }
  | { readonly type: 'partitions-added'; readonly topic: string; readonly partitions: number }
  // Partitions.
  | ({ readonly type: 'leader-elected'; readonly leader: number; readonly leaderEpoch: number } & OfPartition)
  | ({ readonly type: 'partition-offline' } & OfPartition)
  | ({ readonly type: 'isr-shrunk'; readonly isr: readonly number[] } & OfReplica)
  | ({ readonly type: 'isr-expanded'; readonly isr: readonly number[] } & OfReplica)
  | ({ readonly type: 'log-truncated'; readonly toOffset: number; readonly recordsRemoved: number } & OfReplica)
  | ({
      readonly type: 'unclean-election';
      readonly leader: number;
      readonly logEndOffset: number;
      /** Records that acks=all had promised to keep, and that are gone. */
      readonly recordsLost: number;
    } & OfPartition)
  | ({ readonly type: 'records-deleted'; readonly logStartOffset: number } & OfPartition)
  | ({ readonly type: 'snapshot-refused'; readonly offset: number; readonly reason: string } & OfReplica)
  | ({
      readonly type: 'producer-forgotten';
      readonly producerId: bigint;
      readonly reason: 'idle' | 'retention';
    } & OfReplica)
  // Batches. `batch-stored` goes to listeners only.
  | ({ readonly type: 'batch-stored'; readonly baseOffset: number } & OfBatch)
  | ({ readonly type: 'batch-recognised'; readonly baseOffset: number } & OfBatch)
  | ({
      readonly type: 'batch-refused';
      readonly errorCode: number;
      readonly reason: string;
      readonly expectedSequence: number | null;
    } & OfBatch)
  | ({ readonly type: 'batch-damaged'; readonly errorCode: number; readonly reason: string } & OfReplica)
  // Consumer groups.
  | {
      readonly type: 'group-rebalanced';
      readonly groupId: string;
      readonly generation: number;
      readonly members: readonly string[];
    }
  | ({
      readonly type: 'consumer-position-reset';
      readonly groupId: string;
      readonly fromOffset: number;
      readonly toOffset: number;
    } & OfPartition);

export type ClusterEventType = ClusterEventBody['type'];
export type ClusterEventListener = (event: ClusterEvent) => void;
export type RecordEvent = (event: ClusterEventBody) => void;

/** How many events are kept: enough to tell the story of a test, bounded for those that run for hours. */
const keptEventsMax = 10_000;

/** Keeps the last events, counts all of them, and tells listeners. */
export class EventLog {
  readonly #nowMs: () => number;
  readonly #listeners = new Set<ClusterEventListener>();
  readonly #counts = new Map<ClusterEventType, number>();
  #kept: ClusterEvent[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The last events, oldest first; at most twice {@link keptEventsMax}. */
  get kept(): readonly ClusterEvent[] {
    return this.#kept;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** How often each type happened. */
  get counts(): ReadonlyMap<ClusterEventType, number> {
    return this.#counts;
  }

  listen(listener: ClusterEventListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Counts what is too frequent to keep, when nobody listens. */
  count(type: ClusterEventType): void {
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
  }

  /** Counts what is too frequent to keep, and tells listeners of it. */
  tell(body: ClusterEventBody): void {
    this.count(body.type);
    this.#tell({ atMs: this.#nowMs(), ...body });
  }

  readonly record: RecordEvent = (body) => {
    this.count(body.type);
    const event = { atMs: this.#nowMs(), ...body };
    this.#kept.push(event);
    if (this.#kept.length > 2 * keptEventsMax) this.#kept = this.#kept.slice(-keptEventsMax);
    this.#tell(event);
  };

  #tell(event: ClusterEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        // The broker is in the middle of something: the listener's error must not end it, and must not be swallowed.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
