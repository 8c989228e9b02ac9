import type { CompressionCodec } from '@sendonce/producer-core/record-batch';
import { ConfigError, platformRuntime, type Runtime } from '@sendonce/producer-core/transport';
import type { DelayRange } from './delay-line.ts';
import {
  arrayOf,
  type DelayOption,
  delay,
  type FieldReader,
  fail,
  flag,
  isPlainObject,
  limit,
  oneOf,
  optional,
  readOptions,
  wholeNumber,
} from './option-reader.ts';
import type { Profile } from './profile.ts';

export interface TopicOptions {
  /** Default 1. */
  readonly partitions?: number;
  /** Replicas of each partition, the leader included. Default: 3, or as many as there are brokers. */
  readonly replicationFactor?: number;
  /** `acks: 'all'` needs at least this many in-sync replicas. Default 1. */
  readonly minInsyncReplicas?: number;
  /** Size at which a new segment begins, and a snapshot of the producer state is taken. Default 16 MiB. */
  readonly segmentBytes?: number;
  /** Old segments go while what remains is at least this large. Default Infinity: kept. */
  readonly retentionBytes?: number;
  /** Old segments go when their newest record is older than this. Looked at when a segment begins. Default Infinity. */
  readonly retentionMs?: number;
  /** Whose clock the records carry. Default `CreateTime`: the producer's. */
  readonly timestampType?: 'CreateTime' | 'LogAppendTime';
  /** Largest batch. Default: the cluster's. */
  readonly maxMessageBytes?: number;
  /** Offset of the first record of each partition. Default 0. */
  readonly firstOffset?: number;
}

export interface MemoryClusterOptions {
  /** Number of brokers; their ids are 1, 2, 3 and so on. Default 1. */
  readonly brokers?: number;
  readonly topics?: Readonly<Record<string, TopicOptions>>;
  /** Time, timers and chance. Default: the platform's. With a simulated one a run is a pure function of its seed (M7). */
  readonly runtime?: Runtime;
  /** Makes chance repeatable where the runtime's isn't. Default: chance comes from the runtime. */
  readonly seed?: number;
  /**
   * `tutorial` (default): the protocol as it is taught, and as brokers before Kafka 2.5 spoke it. `kafka-4`: what Kafka 3.9 and
   * 4.1 answer.
   */
  readonly profile?: Profile;
  /**
   * Whether produce requests name topics by the ids that the client knows, as with Kafka from 4.1 on: what is on its way to a topic that
   * was deleted and made again is refused then (UNKNOWN_TOPIC_ID), and does not get into the new one. Default: with profile `kafka-4`.
   */
  readonly topicIds?: boolean;
  /** Idle time after which a partition forgets a producer (M5). Default a day. */
  readonly producerIdExpirationMs?: number;
  /** How often brokers look for producers to forget. Default ten minutes. */
  readonly producerIdExpirationCheckMs?: number;
  /** Producer ids that a broker gets from the controller at a time (M1). Default 1000. */
  readonly producerIdBlockSize?: number;
  /** Default 0. */
  readonly firstProducerId?: number;
  /** How long a broker waits for such a block, and answers COORDINATOR_LOAD_IN_PROGRESS meanwhile. Default 0. */
  readonly producerIdBlockDelayMs?: DelayOption;
  /** Largest batch. Default 1 MiB and 12 bytes, as Kafka's. */
  readonly maxMessageBytes?: number;
  /** Time on the way, in each direction. Default 0: a request is answered in the event-loop turn after the one that sent it. */
  readonly latencyMs?: DelayOption;
  /** Time that a follower takes to copy what is new. Default 0: before the leader answers. */
  readonly replicationDelayMs?: DelayOption;
  /** Time until a broker hears of a new leader. Default 0: at once. */
  readonly metadataDelayMs?: DelayOption;
  /** Time until the controller notices that a broker was killed. Default 0: at once. */
  readonly electionDelayMs?: number;
  /** Time until the controller gives up on a frozen broker. Default 9 s, as Kafka's. */
  readonly sessionTimeoutMs?: number;
  /**
   * Decoders for compressed batches. Default: each is loaded when the first batch of its kind comes. Give those of
   * `loadAvailableCodecs()` where a run must be a pure function of its seed: loading takes real time.
   */
  readonly codecs?: readonly CompressionCodec[];
}

export type Topic = { readonly [K in keyof TopicOptions]-?: TopicOptions[K] };

export interface ClusterSettings {
  readonly brokers: number;
  readonly topics: ReadonlyMap<string, Topic>;
  readonly runtime: Runtime;
  readonly profile: Profile;
  readonly topicIds: boolean;
  readonly producerIdExpirationMs: number;
  readonly producerIdExpirationCheckMs: number;
  readonly producerIdBlockSize: number;
  readonly firstProducerId: number;
  readonly producerIdBlockDelay: DelayRange;
  readonly maxMessageBytes: number;
  readonly latency: DelayRange;
  readonly replicationDelay: DelayRange;
  readonly metadataDelay: DelayRange;
  readonly electionDelayMs: number;
  readonly sessionTimeoutMs: number;
  readonly codecs: readonly CompressionCodec[];
}

const dayMs = 24 * 60 * 60 * 1000;
const brokersMax = 100;
export const partitionsMax = 100_000;
const int32Max = 0x7fffffff;
/** Kafka's own limit on the length of a topic's name, and the characters it may have. */
const topicNamePattern = /^(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}$/;

export function isTopicName(name: unknown): name is string {
  return typeof name === 'string' && topicNamePattern.test(name);
}

export function readClusterOptions(given: unknown): ClusterSettings {
  const { topics, runtime, seed, producerIdBlockDelayMs, latencyMs, replicationDelayMs, metadataDelayMs, ...rest } =
    readOptions('createMemoryCluster', given, {
      brokers: wholeNumber(1, { min: 1, max: brokersMax }),
      topics: record,
      runtime: readRuntime,
      seed: optional(wholeNumber(0)),
      profile: oneOf(['tutorial', 'kafka-4'], 'tutorial'),
      topicIds: optional(flag),
      producerIdExpirationMs: wholeNumber(dayMs, { min: 1 }),
      producerIdExpirationCheckMs: wholeNumber(600_000, { min: 1 }),
      producerIdBlockSize: wholeNumber(1000, { min: 1, max: int32Max }),
      firstProducerId: wholeNumber(0),
      producerIdBlockDelayMs: delay(0),
      maxMessageBytes: wholeNumber(1_048_588, { min: 1, max: int32Max }),
      latencyMs: delay(0),
      replicationDelayMs: delay(0),
      metadataDelayMs: delay(0),
      electionDelayMs: wholeNumber(0),
      sessionTimeoutMs: wholeNumber(9_000),
      codecs: readCodecs,
    });
  const settings = {
    ...rest,
    topicIds: rest.topicIds ?? rest.profile === 'kafka-4',
    runtime: seed === undefined ? runtime : withSeed(runtime, seed),
    producerIdBlockDelay: producerIdBlockDelayMs,
    latency: latencyMs,
    replicationDelay: replicationDelayMs,
    metadataDelay: metadataDelayMs,
  };
  const read = Object.entries(topics).map(([name, topic]) => [name, readTopicOptions(name, topic, settings)] as const);
  return { ...settings, topics: new Map(read) };
}

export function readTopicOptions(
  name: unknown,
  given: unknown,
  cluster: Pick<ClusterSettings, 'brokers' | 'maxMessageBytes'>,
): Topic {
  if (!isTopicName(name)) fail('topic', 'a name of 1 to 249 letters, digits, ".", "_" and "-"', name);
  const topic = readOptions<Topic>(`topic "${name}"`, given, {
    partitions: wholeNumber(1, { min: 1, max: partitionsMax }),
    replicationFactor: wholeNumber(Math.min(3, cluster.brokers), { min: 1, max: cluster.brokers }),
    minInsyncReplicas: wholeNumber(1, { min: 1 }),
    segmentBytes: wholeNumber(16 * 1024 * 1024, { min: 1 }),
    retentionBytes: limit(Number.POSITIVE_INFINITY),
    retentionMs: limit(Number.POSITIVE_INFINITY),
    timestampType: oneOf(['CreateTime', 'LogAppendTime'], 'CreateTime'),
    maxMessageBytes: wholeNumber(cluster.maxMessageBytes, { min: 1, max: int32Max }),
    firstOffset: wholeNumber(0),
  });
  if (topic.minInsyncReplicas > topic.replicationFactor) {
    throw new ConfigError(
      `topic "${name}": minInsyncReplicas ${topic.minInsyncReplicas} can't be reached with replicationFactor ${topic.replicationFactor}. Raise replicationFactor, or lower minInsyncReplicas.`,
      ['minInsyncReplicas', 'replicationFactor'],
    );
  }
  return topic;
}

const readCodec: FieldReader<CompressionCodec> = (given, field) => {
  const { id, decompress } = (given ?? {}) as Partial<CompressionCodec>;
  if (typeof decompress !== 'function') fail(field, 'a codec: an object with id, name, compress and decompress', given);
  if (!codecIdList.includes(id as never)) {
    fail(`${field}.id`, '1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)', id);
  }
  return given as CompressionCodec;
};

const codecIdList = [1, 2, 3, 4] as const;
const readCodecs: FieldReader<readonly CompressionCodec[]> = (given = [], field) =>
  arrayOf('codecs', readCodec)(given, field);

const record: FieldReader<Record<string, unknown>> = (given = {}, field) =>
  isPlainObject(given) ? given : fail(field, 'a plain object from topic names to options', given);

const runtimeMethods = ['monotonicMs', 'wallClockMs', 'schedule', 'cancel', 'endOfTurn', 'random'] as const;

const readRuntime: FieldReader<Runtime> = (given = platformRuntime, field) => {
  const candidate = given as Partial<Record<keyof Runtime, unknown>> | null;
  const isRuntime = runtimeMethods.every((method) => typeof candidate?.[method] === 'function');
  return isRuntime ? (candidate as Runtime) : fail(field, `an object with ${runtimeMethods.join(', ')}`, given);
};

/** The same clock and timers with chance of its own: splitmix32, which passes through every one of 2^32 states. */
function withSeed(runtime: Runtime, seed: number): Runtime {
  let state = (seed ^ Math.floor(seed / 2 ** 32)) | 0;
  return {
    monotonicMs: () => runtime.monotonicMs(),
    wallClockMs: () => runtime.wallClockMs(),
    schedule: (delayMs, callback) => runtime.schedule(delayMs, callback),
    cancel: (timer) => runtime.cancel(timer),
    endOfTurn: (callback) => runtime.endOfTurn(callback),
    random: () => {
      state = (state + 0x9e3779b9) | 0;
      let mixed = state ^ (state >>> 16);
      mixed = Math.imul(mixed, 0x21f0aaad);
      mixed ^= mixed >>> 15;
      mixed = Math.imul(mixed, 0x735a2d97);
      return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
    },
  };
}
