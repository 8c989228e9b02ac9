import { SimulatedRuntime } from '@sendonce/producer-core/testing';
import { Dice } from './dice.ts';

/**
 * - `clean`: faults that Kafka survives without losing what it acknowledged. Every promise holds.
 * - `unclean`: replicas that were not in sync may be elected. Acknowledged records may be lost, and must be reported as lost.
 * - `by-name`: topics are deleted and made again, and requests name them, as before Kafka 4.1: what is on its way to the former one gets
 *   into the new one.
 */
export type Mode = 'clean' | 'unclean' | 'by-name';
export type ProfileName = 'tutorial' | 'kafka-4';

export interface TopicPlan {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly minInsyncReplicas: number;
  readonly segmentBytes: number;
  readonly maxMessageBytes: number;
  readonly timestampType: 'CreateTime' | 'LogAppendTime';
}

export interface DelayPlan {
  readonly minMs: number;
  readonly maxMs: number;
}

export interface ClusterPlan {
  readonly profile: ProfileName;
  readonly topicIds: boolean;
  readonly brokers: number;
  readonly topics: readonly TopicPlan[];
  readonly latencyMs: DelayPlan;
  readonly replicationDelayMs: DelayPlan;
  readonly metadataDelayMs: DelayPlan;
  readonly electionDelayMs: number;
  readonly sessionTimeoutMs: number;
  readonly producerIdBlockSize: number;
  readonly producerIdBlockDelayMs: DelayPlan;
  readonly producerIdExpirationMs: number;
  readonly producerIdExpirationCheckMs: number;
}

export interface ProducerPlan {
  readonly idempotence: boolean;
  readonly maxInFlight: number;
  readonly lingerMs: number;
  readonly batchSize: number;
  readonly maxRequestSize: number;
  readonly bufferMemory: number;
  readonly maxBlockMs: number;
  readonly requestTimeoutMs: number;
  readonly deliveryTimeoutMs: number;
  readonly retryBackoffMs: number;
  readonly retryBackoffMaxMs: number;
  readonly metadataMaxAgeMs: number;
  readonly compresses: boolean;
  /** The epoch that a new producer id comes with. */
  readonly firstEpoch: number;
}

/** What one application process does with its producer. Gaps are averages. */
export interface WorkloadPlan {
  readonly producer: ProducerPlan;
  readonly gapMs: number;
  /** Records in one burst. */
  readonly burstMax: number;
  readonly valueBytesMax: number;
  /** Probabilities for each burst. */
  readonly flush: number;
  readonly restart: number;
  readonly crash: number;
  readonly freeze: number;
  readonly idle: number;
}

export const faultKinds = [
  'loseRequest',
  'loseReply',
  'delayRequest',
  'delayReply',
  'duplicate',
  'resetBefore',
  'resetAfter',
  'refuseBefore',
  'refuseAfter',
  'kill',
  'killWhileHandling',
  'restart',
  'pause',
  'moveLeader',
  'loseSnapshots',
  'damageSnapshots',
  'deleteRecords',
  'expireProducers',
  'restartController',
  'slowProducerIds',
  'wallClock',
  'uncleanElection',
  'addPartitions',
  'recreateTopic',
  'deleteTopic',
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** An unclean election makes all weaker that is said of a topic's end. */
export function happensIn(kind: FaultKind, mode: Mode): boolean {
  if (kind === 'uncleanElection') return mode === 'unclean';
  return mode !== 'unclean' || (kind !== 'recreateTopic' && kind !== 'deleteTopic');
}

export interface Plan {
  readonly seed: number;
  readonly mode: Mode;
  readonly cluster: ClusterPlan;
  readonly workloads: readonly WorkloadPlan[];
  /** How long workloads send and faults strike. */
  readonly durationMs: number;
  /** Average time between two faults of a kind; a kind that is not here does not happen. */
  readonly faultGapsMs: Readonly<Partial<Record<FaultKind, number>>>;
  /** The longest delay of a request, so that nothing arrives more than a second after its connection ended (rule C9). */
  readonly requestDelayMaxMs: number;
}

/** A broker is killed or frozen for no longer. */
export const longestDownMs = 3000;
/** Far enough in the future that nothing expires. */
const dayMs = 86_400_000;

/** Makes one thing more likely than a plan drawn at random would: to look for a fault that needs a rare meeting of events. */
export interface Focus {
  readonly profile?: ProfileName;
  readonly faultGapsMs?: Plan['faultGapsMs'];
  readonly requestDelayMaxMs?: number;
  readonly cluster?: Partial<ClusterPlan>;
  readonly workload?: Partial<Omit<WorkloadPlan, 'producer'>>;
  readonly producer?: Partial<ProducerPlan>;
}

/**
 * What happens in the run of a seed, as far as it is decided beforehand. Each seed takes its own choice of faults and sizes: runs
 * in which a few things go wrong often find more than runs in which everything goes wrong now and then.
 */
export function planOf(seed: number, mode: Mode, focus: Focus = {}): Plan {
  const stream = new SimulatedRuntime({ seed }).fork('plan');
  const dice = new Dice(() => stream.random());
  const workloads = Array.from({ length: dice.pick([1, 1, 1, 2, 3]) }, () => focusWorkload(planWorkload(dice), focus));
  const deliveryTimeoutMaxMs = Math.max(...workloads.map(({ producer }) => producer.deliveryTimeoutMs));
  const profile = mode === 'by-name' ? 'kafka-4' : focus.profile;
  const drawn = { ...planCluster(dice, mode, deliveryTimeoutMaxMs, profile), ...focus.cluster };
  const drawnGapsMs = planFaults(dice, mode, drawn);
  const faultGapsMs = focus.faultGapsMs ?? drawnGapsMs;
  // A copy of a delayed request comes twice as late: within the second that rule C9 waits.
  const drawnDelayMaxMs = dice.scale(20, 450);
  return {
    seed,
    mode,
    cluster: faultGapsMs.duplicate === undefined ? drawn : withoutRefusals(drawn),
    workloads,
    durationMs: dice.scale(1000, 15_000),
    faultGapsMs,
    requestDelayMaxMs: focus.requestDelayMaxMs ?? drawnDelayMaxMs,
  };
}

function focusWorkload(drawn: WorkloadPlan, { workload, producer }: Focus): WorkloadPlan {
  return { ...drawn, ...workload, producer: { ...drawn.producer, ...producer } };
}

function planDelay(dice: Dice, maxMs: number): DelayPlan {
  const limit = dice.pick([0, dice.scale(1, maxMs), dice.scale(1, maxMs)]);
  return { minMs: dice.chance(0.5) ? 0 : limit / 2, maxMs: limit };
}

function planCluster(
  dice: Dice,
  mode: Mode,
  deliveryTimeoutMaxMs: number,
  profile: ProfileName | undefined,
): ClusterPlan {
  const brokers = mode === 'unclean' ? dice.int(2, 3) : dice.pick([1, 2, 3, 3, 3, 4]);
  // Drawn whether or not it is given, so that a seed is the same run otherwise.
  const drawn: ProfileName = dice.chance(0.5) ? 'kafka-4' : 'tutorial';
  const expires = dice.chance(0.3);
  return {
    profile: profile ?? drawn,
    topicIds: mode !== 'by-name' && (profile ?? drawn) === 'kafka-4',
    brokers,
    topics: Array.from({ length: dice.pick([1, 1, 2]) }, (_, index) => planTopic(dice, brokers, `topic-${index}`)),
    latencyMs: planDelay(dice, 30),
    replicationDelayMs: planDelay(dice, 30),
    metadataDelayMs: planDelay(dice, 100),
    electionDelayMs: dice.pick([0, dice.scale(1, 500)]),
    sessionTimeoutMs: dice.scale(200, 4000),
    producerIdBlockSize: dice.pick([1, 2, 1000]),
    producerIdBlockDelayMs: planDelay(dice, 300),
    // Longer than any batch may be under way, or lie in a frozen broker: beyond that no broker recognises a repeat, and nobody promises it.
    producerIdExpirationMs: expires ? 3 * deliveryTimeoutMaxMs + 2000 + longestDownMs : dayMs,
    producerIdExpirationCheckMs: expires ? dice.scale(100, 2000) : 600_000,
  };
}

/** A copy of a request that was refused, and is then stored, makes any client wrong. TCP makes no copies. */
function withoutRefusals(cluster: ClusterPlan): ClusterPlan {
  return { ...cluster, topics: cluster.topics.map((topic) => ({ ...topic, minInsyncReplicas: 1 })) };
}

function planTopic(dice: Dice, brokers: number, name: string): TopicPlan {
  const replicationFactor = Math.min(brokers, dice.pick([1, 2, 3, 3, 3]));
  return {
    name,
    partitions: dice.pick([1, 1, 2, 4]),
    replicationFactor,
    minInsyncReplicas: Math.min(replicationFactor, dice.pick([1, 1, 2])),
    segmentBytes: dice.scale(300, 50_000),
    maxMessageBytes: dice.chance(0.15) ? dice.int(400, 1500) : 1_048_588,
    timestampType: dice.chance(0.2) ? 'LogAppendTime' : 'CreateTime',
  };
}

function planProducer(dice: Dice): ProducerPlan {
  const batchSize = dice.pick([512, 512, 1024, 4096]);
  const maxRequestSize = dice.pick([batchSize, 4 * batchSize, 1_048_576]);
  const lingerMs = dice.pick([0, 5, 50]);
  // Longer than the slowest way to connect, ask, replicate and answer: what times out is a fault's doing.
  const requestTimeoutMs = dice.scale(250, 1500);
  const retryBackoffMs = dice.scale(2, 100);
  return {
    idempotence: !dice.chance(0.03),
    maxInFlight: dice.pick([1, 2, 5, 5, 5, 5]),
    lingerMs,
    batchSize,
    maxRequestSize,
    bufferMemory: Math.max(maxRequestSize, dice.pick([8192, 32_768, 33_554_432])),
    maxBlockMs: dice.scale(50, 5000),
    requestTimeoutMs,
    deliveryTimeoutMs: requestTimeoutMs + lingerMs + dice.scale(20, 6000),
    retryBackoffMs,
    retryBackoffMaxMs: retryBackoffMs * dice.pick([1, 4, 10]),
    metadataMaxAgeMs: dice.pick([dice.scale(200, 5000), 300_000]),
    compresses: dice.chance(0.1),
    firstEpoch: dice.chance(0.1) ? dice.int(32_760, 32_767) : 0,
  };
}

function planWorkload(dice: Dice): WorkloadPlan {
  return {
    producer: planProducer(dice),
    gapMs: dice.scale(5, 300),
    burstMax: dice.pick([1, 5, 20]),
    valueBytesMax: dice.pick([40, 150, 400]),
    flush: dice.pick([0, 0.05]),
    restart: dice.pick([0, 0.02]),
    crash: dice.pick([0, 0.02]),
    freeze: dice.pick([0, 0.03]),
    idle: dice.pick([0, 0.02]),
  };
}

/** Faults that end much of what goes on: seldom enough that something does. */
const chances: Readonly<Partial<Record<FaultKind, number>>> = {
  uncleanElection: 1,
  recreateTopic: 0.15,
  deleteTopic: 0.5,
};
const slowKinds: readonly FaultKind[] = ['addPartitions', 'recreateTopic', 'deleteTopic'];

function planFaults(dice: Dice, mode: Mode, { brokers, topics }: ClusterPlan): Plan['faultGapsMs'] {
  const gaps: Partial<Record<FaultKind, number>> = {};
  for (const kind of faultKinds) {
    const gapMs = dice.scale(50, 3000);
    const isDrawn = dice.chance(chances[kind] ?? 0.3);
    if (!isDrawn && !(kind === 'recreateTopic' && mode === 'by-name')) continue;
    if (!happensIn(kind, mode)) continue;
    if (kind === 'moveLeader' && brokers === 1) continue;
    if (kind === 'deleteTopic' && topics.length === 1) continue;
    gaps[kind] = slowKinds.includes(kind) ? 4 * gapMs : gapMs;
  }
  // See `withoutRefusals`.
  if (gaps.refuseBefore !== undefined) delete gaps.duplicate;
  return gaps;
}
