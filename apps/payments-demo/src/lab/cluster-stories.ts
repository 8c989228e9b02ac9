import type { ClusterEvent, MemoryCluster } from '@sendonce/transport-memory';
import type { Attempt, SystemEventEmitter } from '../system/events.ts';
import type { BatchStories, NamedBatch } from './batch-stories.ts';
import { brokerLetter } from './cluster-eye.ts';
import type { Story, Timeline } from './timeline.ts';
import { count, offsetsText } from './words.ts';

type EventOf<T extends ClusterEvent['type']> = Extract<ClusterEvent, { type: T }>;
type BatchEvent = EventOf<'batch-stored' | 'batch-recognised' | 'batch-refused'>;

interface DealtWith {
  readonly batch: NamedBatch;
  /** What the broker did with it. */
  readonly part: string;
}

interface Told {
  readonly timeline: Timeline;
  readonly batches: BatchStories;
}

/** Tells what happens on the way to the brokers, and inside them. Returns how to stop. */
export function tellClusterStories(cluster: MemoryCluster, events: SystemEventEmitter, told: Told): () => void {
  const stories = new ClusterStories(told);
  const note = (attempt: Attempt): void => stories.attemptStarted(attempt);
  events.on('attempt-started', note);
  const stop = cluster.onEvent((event) => stories.tell(event));
  return () => {
    events.off('attempt-started', note);
    stop();
  };
}

const letter = brokerLetter;

class ClusterStories {
  readonly #timeline: Timeline;
  readonly #batches: BatchStories;
  /** The batch that left last for a partition, and the one that a broker dealt with last. Bounded by the partitions. */
  readonly #sent = new Map<string, NamedBatch>();
  readonly #doneWith = new Map<string, DealtWith>();
  /** Outages that are not over. Bounded by the brokers. */
  readonly #outages = new Map<number, Story>();
  /** Late replies, and when the last of them was held up: those that follow closely are one story. */
  #late: { readonly story: Story; replies: number; atMs: number } | null = null;

  constructor({ timeline, batches }: Told) {
    this.#timeline = timeline;
    this.#batches = batches;
  }

  attemptStarted(attempt: Attempt): void {
    this.#sent.set(placeOf(attempt.brokerId, attempt.partition), attempt);
  }

  tell(event: ClusterEvent): void {
    switch (event.type) {
      case 'batch-stored':
      case 'batch-recognised':
      case 'batch-refused':
        this.#batch(event);
        break;
      case 'reply-lost':
        this.#replyLost(event);
        break;
      case 'request-lost':
        this.#requestLost(event);
        break;
      case 'reply-delayed':
        this.#replyDelayed(event);
        break;
      case 'leader-elected':
        this.#leaderElected(event);
        break;
      case 'partition-offline':
        this.#outages.values().next().value?.add(`nobody leads partition ${event.partition}`);
        break;
      default:
        this.#brokerEvent(event);
    }
  }

  #batch(event: BatchEvent): void {
    const batch = namedBatch(event);
    const part = partOf(event);
    this.#doneWith.set(placeOf(event.brokerId, event.partition), { batch, part });
    if (event.type === 'batch-stored') this.#batches.goOn(batch, part);
    else this.#batches.tell(batch, event.type === 'batch-recognised' ? 'caught' : 'trouble', part);
  }

  #replyLost({ api, brokerId, partitions }: EventOf<'reply-lost'>): void {
    if (api !== 'produce') return;
    for (const { partition } of partitions) {
      const done = this.#doneWith.get(placeOf(brokerId, partition));
      if (done === undefined) continue;
      this.#batches.tell(done.batch, 'trouble', done.part);
      this.#batches.tell(done.batch, 'trouble', 'the reply is lost');
    }
  }

  #replyDelayed({ api, brokerId, delayMs, atMs }: EventOf<'reply-delayed'>): void {
    if (api !== 'produce') return;
    if (this.#late === null || atMs - this.#late.atMs > delayMs)
      this.#late = { story: this.#timeline.tell('note', ''), replies: 0, atMs };
    const late = this.#late;
    late.replies += 1;
    late.atMs = atMs;
    const replies = count(late.replies, 'reply', 'replies');
    late.story.replaceLast(`broker ${letter(brokerId)}: ${replies} on the way, ${delayMs} ms late`);
  }

  #requestLost({ api, brokerId, partitions }: EventOf<'request-lost'>): void {
    if (api !== 'produce') return;
    for (const { partition } of partitions) {
      const batch = this.#sent.get(placeOf(brokerId, partition));
      if (batch !== undefined) this.#batches.tell(batch, 'trouble', `lost on the way to broker ${letter(brokerId)}`);
    }
  }

  #leaderElected({ leader, partition }: EventOf<'leader-elected'>): void {
    const part = `broker ${letter(leader)} leads partition ${partition}`;
    const [outage] = [...this.#outages.values()].slice(-1);
    if (outage === undefined) this.#timeline.tell('note', part);
    else outage.add(part);
  }

  #brokerEvent(event: ClusterEvent): void {
    if (event.type === 'broker-killed') this.#outage(event.brokerId, 'dies');
    else if (event.type === 'broker-paused')
      this.#outage(event.brokerId, 'freezes: nothing breaks, nothing is answered');
    else if (event.type === 'broker-fenced') this.#outages.get(event.brokerId)?.add('the others stop waiting for it');
    else if (event.type === 'broker-started')
      this.#backAgain(event.brokerId, 'starts again, and copies what it missed');
    else if (event.type === 'broker-resumed')
      this.#backAgain(event.brokerId, 'wakes up, and works through what waited');
    else if (event.type === 'producer-forgotten')
      this.#timeline.tell('note', `broker ${letter(event.brokerId)} forgets producer ${event.producerId}`);
    else if (event.type === 'log-truncated')
      this.#timeline.tell(
        'note',
        `broker ${letter(event.brokerId)} drops ${count(event.recordsRemoved, 'record')} that it stored when it no longer led`,
      );
    else if (event.type === 'unclean-election')
      this.#timeline.tell('bad', `unclean election: ${event.recordsLost} acknowledged records are lost`);
  }

  #outage(brokerId: number, part: string): void {
    this.#outages.set(brokerId, this.#timeline.tell('trouble', `broker ${letter(brokerId)} ${part}`));
  }

  #backAgain(brokerId: number, part: string): void {
    this.#outages.get(brokerId)?.add(`${letter(brokerId)} ${part}`);
    this.#outages.delete(brokerId);
  }
}

function placeOf(brokerId: number, partition: number): string {
  return `${brokerId}/${partition}`;
}

function partOf(event: BatchEvent): string {
  const broker = `broker ${letter(event.brokerId)}`;
  if (event.type === 'batch-refused')
    return `${broker} refuses it: ${event.expectedSequence === null ? event.reason : `it expects ${event.expectedSequence}`}`;
  const offsets = offsetsText(event.baseOffset, event.recordCount);
  if (event.type === 'batch-stored') return `${broker} stores it at ${offsets}`;
  const sequence = offsetsText(event.baseSequence, event.recordCount);
  return `${broker} recognises ${sequence}, stores nothing, and answers with ${offsets}`;
}

function namedBatch({ partition, producerId, producerEpoch, baseSequence, recordCount }: BatchEvent): NamedBatch {
  return { partition, producerId, epoch: producerEpoch, baseSequence, recordCount };
}
