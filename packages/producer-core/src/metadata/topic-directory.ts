import type { Accumulator } from '../accumulator/accumulator.ts';
import { PartitionQueue, type PartitionQueueOwner } from '../accumulator/partition-queue.ts';
import type { TopicState } from '../accumulator/topic-state.ts';
import { AuthorizationError, DeliveryError, type DeliveryErrorOptions, SendonceError } from '../errors.ts';
import type { Observer } from '../observe/observer.ts';
import type { Runtime } from '../runtime.ts';
import { unknownTopicLimit } from '../sender/attempt-outcomes.ts';
import type { Sender } from '../sender/sender.ts';
import { protocolErrorCodes as code, protocolErrorName } from '../transport/protocol-errors.ts';
import type { ClusterMetadata, TopicMetadata } from '../transport/transport.ts';
import type { MetadataListener } from './metadata-refresher.ts';

/** Turns metadata into partitions with leaders, and into errors for what waits for a topic that can't be used. */
export class TopicDirectory implements MetadataListener {
  readonly #accumulator: Accumulator;
  readonly #sender: Sender;
  readonly #owner: PartitionQueueOwner;
  readonly #observer: Observer;
  readonly #runtime: Runtime;

  constructor(
    accumulator: Accumulator,
    sender: Sender,
    owner: PartitionQueueOwner,
    observer: Observer,
    runtime: Runtime,
  ) {
    this.#accumulator = accumulator;
    this.#sender = sender;
    this.#owner = owner;
    this.#observer = observer;
    this.#runtime = runtime;
  }

  knownTopics(): readonly string[] {
    return [...this.#accumulator.topics.keys()];
  }

  onMetadata(metadata: ClusterMetadata): readonly string[] {
    const again: string[] = [];
    for (const answer of metadata.topics) {
      const topic = this.#accumulator.topics.get(answer.topic);
      if (topic !== undefined && !this.#take(topic, answer)) again.push(topic.topic);
    }
    return again;
  }

  onMetadataFailed(error: Error, topics: readonly string[]): void {
    this.#observer.event({ type: 'metadata-failed', error });
    const isFinal = error instanceof SendonceError && !error.retriable;
    for (const name of topics) {
      const topic = this.#accumulator.topics.get(name);
      if (topic === undefined) continue;
      topic.lastError = error;
      if (isFinal) this.#giveUp(topic, 'METADATA_FAILED', `Its metadata can't be had: ${error.message}`, error);
    }
  }

  /** False when the topic is to be asked about again. */
  #take(topic: TopicState, answer: TopicMetadata): boolean {
    switch (answer.errorCode) {
      case code.NONE:
        return this.#takePartitions(topic, answer);
      case code.UNKNOWN_TOPIC_OR_PARTITION:
      case code.UNKNOWN_TOPIC_ID:
        if (++topic.unknownAnswers < unknownTopicLimit) return false;
        this.#giveUp(
          topic,
          'UNKNOWN_TOPIC',
          `The cluster has no such topic (asked ${topic.unknownAnswers} times). Create it, or correct the name.`,
        );
        return true;
      case code.TOPIC_AUTHORIZATION_FAILED:
        this.#giveUp(
          topic,
          'AUTHORIZATION',
          'This client may not describe or write to it. Grant it DESCRIBE and WRITE on the topic.',
        );
        return true;
      case code.INVALID_TOPIC_EXCEPTION:
        this.#giveUp(
          topic,
          'INVALID_TOPIC',
          'That is not a valid topic name: letters, digits, ".", "_" and "-", at most 249.',
        );
        return true;
      default:
        topic.lastError = new SendonceError(
          `The cluster answered ${protocolErrorName(answer.errorCode)} (${answer.errorCode}) for topic ${topic.topic}.`,
          { code: 'METADATA_FAILED', retriable: true },
        );
        return false;
    }
  }

  #takePartitions(topic: TopicState, answer: TopicMetadata): boolean {
    topic.unknownAnswers = 0;
    topic.lastError = null;
    topic.refreshedAtMs = this.#runtime.monotonicMs();
    if (answer.topicId !== undefined) this.#takeTopicId(topic, answer.topicId, answer.partitions.length);
    let isComplete = true;
    for (const { partition, leader, leaderEpoch } of answer.partitions) {
      const queue = topic.partitions[partition] ?? this.#addPartition(topic, partition);
      // Nobody is kept from anything by a leader that is missing elsewhere, and an idle producer asks nothing.
      if (leader < 0 && queue.isWaitedFor) isComplete = false;
      this.#sender.leaderIs(queue, leader, leaderEpoch);
    }
    this.#accumulator.topicArrived(topic);
    return isComplete;
  }

  #takeTopicId(topic: TopicState, topicId: string, partitionCount: number): void {
    const isAnother = topic.topicId !== undefined && topic.topicId !== topicId;
    topic.topicId = topicId;
    if (!isAnother) return;
    this.#sender.topicRecreated(topic.queues());
    topic.shrink(partitionCount);
    this.#observer.event({ type: 'topic-recreated', topic: topic.topic, topicId });
    this.#observer.warn(
      `Topic ${topic.topic} was deleted and made again: what was acknowledged before is gone. What is still waiting goes to the new one.`,
      'SENDONCE_TOPIC_RECREATED',
    );
  }

  #addPartition(topic: TopicState, partition: number): PartitionQueue {
    const queue = topic.gone.get(partition) ?? new PartitionQueue(topic, partition, this.#owner);
    topic.gone.delete(partition);
    topic.partitions[partition] = queue;
    return queue;
  }

  #giveUp(topic: TopicState, errorCode: string, problem: string, cause?: Error): void {
    topic.unknownAnswers = 0;
    const error = (options: DeliveryErrorOptions): DeliveryError => {
      const known = options.fate === 'not-stored' ? 'It is certainly not stored.' : 'It may be stored.';
      const message = `Topic ${topic.topic} can't be written to. ${problem} ${known}`;
      const all = { ...options, code: errorCode, ...(cause === undefined ? {} : { cause }) };
      return errorCode === 'AUTHORIZATION' ? new AuthorizationError(message, all) : new DeliveryError(message, all);
    };
    for (const queue of topic.queues()) queue.unknownTopicAnswers = 0;
    this.#accumulator.failWaiting(topic, (partition) =>
      error({ fate: 'not-stored', attempts: 0, topic: topic.topic, partition }),
    );
    this.#sender.failTopic(topic.queues(), (batch) =>
      error({
        fate: batch.fate === 'not-stored' ? 'not-stored' : 'unknown',
        attempts: batch.attempts,
        topic: topic.topic,
        partition: batch.queue.partition,
      }),
    );
    this.#accumulator.forget(topic);
  }
}
