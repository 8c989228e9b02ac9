import type { Runtime } from '../../runtime.ts';
import type { Transport } from '../../transport/transport.ts';

/**
 * What an environment can do to the cluster and to the way there. A case that needs more than the environment has is not
 * applicable to it: see `selectConformanceCases`.
 *
 * - `lose-requests`, `lose-replies`, `hold-replies`, `reset-connections`, `answer-errors`: the faults of the same names.
 * - `count-traffic`: `faults.requestsSeen` and `faults.connectionsOpened` tell the truth.
 * - `kill-brokers`: brokers can be killed and restarted.
 * - `several-brokers`: at least three brokers, topics with a replication factor of three.
 * - `move-leaders`: a partition's leadership can be moved to another replica.
 * - `forget-producers`: a partition's producer state can be dropped, as when it expired.
 */
export type ConformanceCapability =
  | 'lose-requests'
  | 'lose-replies'
  | 'hold-replies'
  | 'reset-connections'
  | 'answer-errors'
  | 'count-traffic'
  | 'kill-brokers'
  | 'several-brokers'
  | 'move-leaders'
  | 'forget-producers';

export type ConformanceApi = 'produce' | 'metadata' | 'initProducerId';

/** The next `times` requests of one kind, from any transport of the environment to any broker. */
export interface RequestMatch {
  readonly api: ConformanceApi;
  readonly times: number;
}

/** An answer put in place of the broker's own, for each partition of a produce request or for the request as a whole. */
export interface ForgedAnswer {
  readonly errorCode: number;
  /** Whether the broker carries the request out before its answer is replaced. */
  readonly carriedOut: boolean;
  /** What the answer says the partition begins at. Default: -1n. */
  readonly logStartOffset?: bigint;
}

/** Replies that wait on the way. */
export interface HeldReplies {
  /** How many wait now. */
  readonly count: number;
  /** Lets them go on, in order. Where the client closed the connection meanwhile they are lost. */
  release(): void;
}

/** Trouble on the way between transport and cluster. Each fault takes effect on requests that arrive after the call. */
export interface ConformanceFaults {
  /** The requests do not arrive; no answer comes, the connection stays open. Needs `lose-requests`. */
  loseRequests(match: RequestMatch): void;
  /** The requests are carried out, the answers swallowed, the connection stays open. Needs `lose-replies`. */
  loseReplies(match: RequestMatch): void;
  /** The requests are carried out, the answers wait for `release()`. Needs `hold-replies`. */
  holdReplies(match: RequestMatch): HeldReplies;
  /** The connection is reset when the request arrives, which is not carried out. Needs `reset-connections`. */
  resetOnRequest(match: RequestMatch): void;
  /** The request is carried out, and the connection is reset in place of its answer. Needs `reset-connections`. */
  resetOnReply(match: RequestMatch): void;
  /** The requests are answered as told. Needs `answer-errors`. */
  answer(match: RequestMatch, answer: ForgedAnswer): void;
  /** Requests of this kind that reached the cluster or were lost on the way since the environment was made. Needs `count-traffic`. */
  requestsSeen(api: ConformanceApi): number;
  /** Connections opened since the environment was made. Needs `count-traffic`. */
  connectionsOpened(): number;
  /** Takes back every fault and releases what is held. */
  clear(): void;
}

export interface ConformanceTopicOptions {
  readonly partitions: number;
  /** 1, or 3 where the environment has `several-brokers`. Default 1. */
  readonly replicationFactor?: 1 | 3;
  /** The largest batch the topic takes (`max.message.bytes`). Default: the broker's, at least 1 MiB. */
  readonly maxMessageBytes?: number;
}

export interface StoredRecord {
  readonly offset: bigint;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
}

/** What the suite needs from whoever runs it: a cluster, transports to it, and ways to get in between. */
export interface ConformanceEnvironment {
  readonly capabilities: ReadonlySet<ConformanceCapability>;
  /** The clock and the timers that transports and producers of this environment live on. */
  readonly runtime: Runtime;
  /** How much later than due things may happen: next to nothing on virtual time, seconds on a busy machine. */
  readonly slackMs: number;
  /** A new transport, not connected. It goes through {@link faults}. */
  createTransport(): Transport;
  /** A transport to an address where nobody listens. */
  createUnreachableTransport(): Transport;
  /** Makes a topic with a name that was never used, waits until every partition has a leader, and returns the name. */
  createTopic(options: ConformanceTopicOptions): Promise<string>;
  /** Everything stored in a partition, from its first offset, past any fault. */
  readPartition(topic: string, partition: number): Promise<readonly StoredRecord[]>;
  readonly faults: ConformanceFaults;
  /** Ends a broker without ceremony. Needs `kill-brokers`. */
  killBroker(brokerId: number): Promise<void>;
  /** Starts a killed broker again and waits until it serves. Needs `kill-brokers`. */
  restartBroker(brokerId: number): Promise<void>;
  /** Moves a partition's leadership to another in-sync replica, and waits until it is done. Needs `move-leaders`. */
  moveLeader(topic: string, partition: number): Promise<void>;
  /** Makes the partition's brokers forget every producer, the log untouched. Needs `forget-producers`. */
  forgetProducers(topic: string, partition: number): Promise<void>;
}

export interface ConformanceCase {
  /** A sentence; begins with the rules' numbers. */
  readonly name: string;
  /** The rules that it checks, e.g. `['T2', 'T4']`. */
  readonly rules: readonly string[];
  readonly needs: readonly ConformanceCapability[];
  /**
   * Rejects (with an `AssertionError`, where a rule is broken) when the transport fails the case. On virtual time somebody must
   * drive the runtime meanwhile: `runtime.runUntilSettled(conformanceCase.run(environment))`.
   */
  run(environment: ConformanceEnvironment): Promise<void>;
}
