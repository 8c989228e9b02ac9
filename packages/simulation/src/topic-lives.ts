import { CommittedLog } from './committed-log.ts';
import type { FormerLife, PartitionEvidence } from './evidence.ts';
import type { TopicPlan } from './plan.ts';
import type { World } from './world.ts';

interface TopicLife {
  readonly plan: TopicPlan;
  /** Counts how often the topic was made. */
  life: number;
  createdAtMs: number;
  /** The ids of the lives after the first, in order. */
  readonly laterIds: string[];
  /** By partition. Empty while the topic does not exist. */
  logs: CommittedLog[];
}

/** The topics of a run: which exist now, what their logs hold, and what the logs held of those that were deleted. */
export class TopicLives {
  readonly #world: Omit<World, 'topics'>;
  readonly #topics: ReadonlyMap<string, TopicLife>;
  readonly #former: FormerLife[] = [];

  constructor(world: Omit<World, 'topics'>) {
    this.#world = world;
    this.#topics = new Map(
      world.plan.cluster.topics.map((plan) => [plan.name, { plan, life: 1, createdAtMs: 0, laterIds: [], logs: [] }]),
    );
    for (const topic of this.#topics.values()) this.#follow(topic, topic.plan.partitions);
    world.cluster.onEvent((event) => {
      if (event.type === 'topic-created') this.#topic(event.topic).laterIds.push(event.topicId);
    });
  }

  /** Those that exist. */
  get names(): string[] {
    return [...this.#topics.values()].flatMap(({ plan, logs }) => (logs.length > 0 ? [plan.name] : []));
  }

  /** Every partition there is. */
  get logs(): CommittedLog[] {
    return [...this.#topics.values()].flatMap(({ logs }) => logs);
  }

  /** How many partitions the topic has; 0 while it does not exist. */
  partitionsOf(name: string): number {
    return this.#topic(name).logs.length;
  }

  /** How often the topic was made. */
  livesOf(name: string): number {
    return this.#topic(name).life;
  }

  /** Which of the topic's lives the id stands for: the first is there before anyone listens. */
  lifeWithId(name: string, topicId: string): number {
    return this.#topic(name).laterIds.indexOf(topicId) + 2;
  }

  /** What its logs hold at this moment is kept for the checker. */
  delete(name: string): void {
    const topic = this.#topic(name);
    for (const [partition, log] of topic.logs.entries()) {
      const { life, createdAtMs } = topic;
      const deletedAtMs = this.#world.runtime.monotonicMs();
      this.#former.push({ topic: name, partition, life, createdAtMs, deletedAtMs, batches: log.committedBatches() });
    }
    topic.logs = [];
    this.#world.cluster.deleteTopic(name);
  }

  create(name: string, partitions: number): void {
    const topic = this.#topic(name);
    const { name: _, ...options } = topic.plan;
    this.#world.cluster.createTopic(name, { ...options, partitions });
    topic.life++;
    topic.createdAtMs = this.#world.runtime.monotonicMs();
    this.#follow(topic, partitions);
  }

  grow(name: string, partitions: number): void {
    this.#world.cluster.addPartitions(name, partitions);
    this.#follow(this.#topic(name), partitions);
  }

  evidence(): { readonly partitions: PartitionEvidence[]; readonly formerLives: readonly FormerLife[] } {
    return { partitions: this.logs.map((log) => log.evidence()), formerLives: this.#former };
  }

  #follow({ plan: { name }, life, createdAtMs, logs }: TopicLife, partitions: number): void {
    for (let partition = logs.length; partition < partitions; partition++) {
      logs.push(new CommittedLog(this.#world, { topic: name, partition, life, createdAtMs }));
    }
  }

  #topic(name: string): TopicLife {
    return this.#topics.get(name)!;
  }
}
