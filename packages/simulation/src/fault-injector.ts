import { protocolErrorCodes as code } from '@sendonce/producer-core/transport';
import type { ArmedFault, FaultMatch } from '@sendonce/transport-memory';
import type { CommittedLog } from './committed-log.ts';
import { Dice } from './dice.ts';
import { type FaultKind, faultKinds, longestDownMs } from './plan.ts';
import { pause, type World } from './world.ts';

export const replyDelayMaxMs = 3000;

/** Topics don't grow beyond that: what a fault does shows with a few. */
const partitionsMax = 6;

/** What a broker may answer for a batch that it did not append. */
const answersBefore: readonly number[] = Object.values<number>(code)
  .filter((errorCode) => {
    switch (errorCode) {
      case code.NONE:
      case code.DUPLICATE_SEQUENCE_NUMBER:
      // These say something of the broker's memory. An invented one is a lie that no client can see through; real ones come up by themselves.
      case code.OUT_OF_ORDER_SEQUENCE_NUMBER:
      case code.UNKNOWN_PRODUCER_ID:
      // They end the producer: drawn apart, and seldom.
      case code.INVALID_PRODUCER_EPOCH:
      case code.PRODUCER_FENCED:
        return false;
      default:
        return true;
    }
  })
  .concat(9999);

/** What a broker may also answer for a batch that it did append. */
const answersAfter = [
  code.NOT_LEADER_OR_FOLLOWER,
  code.LEADER_NOT_AVAILABLE,
  code.REQUEST_TIMED_OUT,
  code.NETWORK_EXCEPTION,
  code.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  code.KAFKA_STORAGE_ERROR,
  code.UNKNOWN_TOPIC_OR_PARTITION,
  code.DUPLICATE_SEQUENCE_NUMBER,
  code.UNKNOWN_SERVER_ERROR,
  9999,
];

export const fatalAnswers = [code.INVALID_PRODUCER_EPOCH, code.PRODUCER_FENCED];

const answersToInitProducerId = [
  code.COORDINATOR_LOAD_IN_PROGRESS,
  code.COORDINATOR_NOT_AVAILABLE,
  code.NOT_COORDINATOR,
  code.NOT_CONTROLLER,
  code.REQUEST_TIMED_OUT,
];

/** Lets faults strike at random until it is told to stop. */
export class FaultInjector {
  readonly #world: World;
  readonly #brokerIds: readonly number[];
  /** Brokers that a fault holds down, and that the same fault brings back. */
  readonly #down = new Set<number>();
  /** Topics that a fault deleted, and that the same fault makes again, with so many partitions. */
  readonly #unmade = new Map<string, number>();
  #delay: ArmedFault | null = null;
  #isOver = false;

  constructor(world: World) {
    this.#world = world;
    this.#brokerIds = Array.from({ length: world.plan.cluster.brokers }, (_, index) => index + 1);
  }

  start(): void {
    for (const kind of faultKinds) {
      const gapMs = this.#world.plan.faultGapsMs[kind];
      if (gapMs !== undefined) void this.#strikeAgainAndAgain(kind, gapMs);
    }
  }

  /** No new faults. Those that struck a request already take their course: a broker may still die over it. */
  stop(): void {
    this.#isOver = true;
    this.#world.cluster.faults.clear();
    this.mend();
  }

  /** Every broker runs, and every topic is there that is to be there. */
  mend(): void {
    for (const topic of [...this.#unmade.keys()]) this.#makeAgain(topic);
    for (const brokerId of this.#brokerIds) this.#bringUp(brokerId);
  }

  async #strikeAgainAndAgain(kind: FaultKind, gapMs: number): Promise<void> {
    const stream = this.#world.runtime.fork(`fault ${kind}`);
    const dice = new Dice(() => stream.random());
    for (;;) {
      await pause(this.#world, dice.gapMs(gapMs));
      if (this.#isOver) return;
      this.#world.coverage.add(`fault: ${kind}`);
      this.#world.trace.note('fault', () => kind);
      await this.#strike(kind, dice);
    }
  }

  #strike(kind: FaultKind, dice: Dice): void | Promise<void> {
    const { cluster, plan, runtime } = this.#world;
    const { faults } = cluster;
    switch (kind) {
      case 'loseRequest':
        faults.loseRequest(this.#match(dice));
        return;
      case 'loseReply':
        faults.loseReply(this.#match(dice));
        return;
      case 'delayRequest':
        // Delays of one request add up, and nothing may arrive later than the plan allows.
        this.#delay?.cancel();
        this.#delay = faults.delay(this.#match(dice), {
          requestMs: dice.chance(0.3) ? plan.requestDelayMaxMs : dice.scale(1, plan.requestDelayMaxMs),
        });
        return;
      case 'delayReply':
        // Delays of one request add up, and nothing may arrive later than the plan allows.
        this.#delay?.cancel();
        this.#delay = faults.delay(this.#match(dice), { replyMs: dice.scale(1, replyDelayMaxMs) });
        return;
      case 'duplicate':
        faults.duplicate(this.#match(dice), { afterMs: dice.pick([0, dice.scale(1, plan.requestDelayMaxMs)]) });
        return;
      case 'resetBefore':
        faults.resetConnection(this.#match(dice), 'before');
        return;
      case 'resetAfter':
        faults.resetConnection(this.#match(dice), 'after');
        return;
      case 'refuseBefore':
        this.#refuse(dice);
        return;
      case 'refuseAfter':
        faults.answerWith(dice.pick(answersAfter), this.#match(dice, 'produce'), { when: 'after' });
        return;
      case 'kill':
        return this.#takeDown(dice, (brokerId) => cluster.broker(brokerId).kill());
      case 'killWhileHandling':
        return this.#killWhileHandling(dice);
      case 'restart': {
        const brokerId = dice.pick(this.#brokerIds);
        if (cluster.broker(brokerId).state === 'running') cluster.broker(brokerId).restart();
        return;
      }
      case 'pause':
        return this.#takeDown(dice, (brokerId) => cluster.broker(brokerId).pause());
      case 'moveLeader':
        this.#moveLeader(dice);
        return;
      case 'loseSnapshots':
        this.#log(dice)?.handle.loseSnapshots();
        return;
      case 'damageSnapshots':
        this.#log(dice)?.handle.damageSnapshots();
        return;
      case 'deleteRecords':
        this.#log(dice)?.deleteOldRecords();
        return;
      case 'expireProducers':
        this.#log(dice)?.handle.expireProducers();
        return;
      case 'restartController':
        cluster.restartController();
        return;
      case 'slowProducerIds':
        faults.delayProducerIdBlocks(dice.int(0, 500));
        return;
      case 'wallClock':
        runtime.moveWallClock(dice.int(-300, 300));
        return;
      case 'uncleanElection':
        return this.#electUnclean(dice);
      case 'addPartitions':
        this.#addPartitions(dice);
        return;
      case 'recreateTopic':
        return this.#recreateTopic(dice);
      case 'deleteTopic':
        this.#deleteTopic();
    }
  }

  #match(dice: Dice, api?: FaultMatch['api']): FaultMatch {
    return {
      api: api ?? dice.pick(['produce', 'produce', 'produce', 'produce', 'produce', 'metadata', 'initProducerId']),
      nth: dice.pick([1, 1, 1, 2, 4]),
      times: dice.pick([1, 1, 1, 2, 5]),
    };
  }

  /** Undefined while no topic exists. */
  #log(dice: Dice): CommittedLog | undefined {
    const { logs } = this.#world.topics;
    return logs.length === 0 ? undefined : dice.pick(logs);
  }

  #refuse(dice: Dice): void {
    const { faults } = this.#world.cluster;
    if (dice.chance(0.1)) {
      faults.answerWith(dice.pick(answersToInitProducerId), this.#match(dice, 'initProducerId'));
    } else {
      const answers = dice.chance(0.02) ? fatalAnswers : answersBefore;
      faults.answerWith(dice.pick(answers), this.#match(dice, 'produce'));
    }
  }

  async #takeDown(dice: Dice, act: (brokerId: number) => void): Promise<void> {
    const brokerId = dice.pick(this.#brokerIds);
    if (this.#world.cluster.broker(brokerId).state !== 'running') return;
    act(brokerId);
    await this.#keepDown(brokerId, dice);
  }

  async #killWhileHandling(dice: Dice): Promise<void> {
    const { cluster } = this.#world;
    const armed = cluster.faults.kill({ nth: dice.int(1, 5) }, dice.pick(['before', 'after']));
    await pause(this.#world, dice.scale(10, 500));
    armed.cancel();
    for (const brokerId of this.#brokerIds) {
      if (cluster.broker(brokerId).state === 'killed' && !this.#down.has(brokerId))
        await this.#keepDown(brokerId, dice);
    }
  }

  async #keepDown(brokerId: number, dice: Dice): Promise<void> {
    this.#down.add(brokerId);
    await pause(this.#world, dice.scale(10, longestDownMs));
    if (!this.#down.delete(brokerId)) return;
    this.#bringUp(brokerId);
  }

  #bringUp(brokerId: number): void {
    this.#down.delete(brokerId);
    const broker = this.#world.cluster.broker(brokerId);
    if (broker.state === 'killed') broker.restart();
    else if (broker.state === 'paused') broker.resume();
  }

  #moveLeader(dice: Dice): void {
    const { cluster } = this.#world;
    const handle = this.#log(dice)?.handle;
    if (handle === undefined) return;
    const candidates = handle.isr.filter((id) => id !== handle.leader && cluster.broker(id).state === 'running');
    if (candidates.length > 0) handle.moveLeader(dice.pick(candidates));
  }

  #addPartitions(dice: Dice): void {
    const { topics } = this.#world;
    if (topics.names.length === 0) return;
    const topic = dice.pick(topics.names);
    const partitions = topics.partitionsOf(topic) + dice.int(1, 2);
    if (partitions <= partitionsMax) topics.grow(topic, partitions);
  }

  /** As many partitions, fewer or more, at once or after a time in which the topic does not exist. */
  async #recreateTopic(dice: Dice): Promise<void> {
    const { topics } = this.#world;
    if (topics.names.length === 0) return;
    const topic = dice.pick(topics.names);
    const before = topics.partitionsOf(topic);
    this.#unmade.set(topic, dice.pick([before, before, dice.int(1, partitionsMax)]));
    topics.delete(topic);
    const goneMs = dice.pick([0, dice.scale(1, 50), dice.scale(10, 3000)]);
    if (goneMs > 0) await pause(this.#world, goneMs);
    this.#makeAgain(topic);
  }

  #makeAgain(topic: string): void {
    const partitions = this.#unmade.get(topic);
    if (partitions === undefined) return;
    this.#unmade.delete(topic);
    this.#world.topics.create(topic, partitions);
  }

  /** For good, and only one: the others must not notice. */
  #deleteTopic(): void {
    const { plan, topics } = this.#world;
    const doomed = plan.cluster.topics.at(-1)!.name;
    if (topics.partitionsOf(doomed) > 0) topics.delete(doomed);
  }

  /** Cuts a follower off, lets the others go on and die, and makes the follower lead with what it has. */
  async #electUnclean(dice: Dice): Promise<void> {
    const { cluster, coverage } = this.#world;
    const handle = this.#log(dice)?.handle;
    if (handle === undefined) return;
    const behind = dice.pick(handle.replicas.filter((id) => id !== handle.leader));
    if (behind === undefined) return;
    const others = handle.replicas.filter((id) => id !== behind);
    cluster.broker(behind).kill();
    await pause(this.#world, dice.scale(10, 1000));
    for (const brokerId of others) cluster.broker(brokerId).kill();
    await pause(this.#world, dice.scale(1, 600));
    if (cluster.broker(behind).state === 'killed') cluster.broker(behind).restart();
    if (handle.leader < 0 && cluster.broker(behind).state === 'running') {
      handle.uncleanElection(behind);
      coverage.add('fault: unclean election of a replica that was behind');
    }
    await pause(this.#world, dice.scale(1, 1000));
    for (const brokerId of others) this.#bringUp(brokerId);
  }
}
