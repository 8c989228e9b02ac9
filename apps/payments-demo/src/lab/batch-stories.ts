import type { BatchNumbers } from '../system/events.ts';
import type { Tone } from './snapshot.ts';
import type { Story, Timeline } from './timeline.ts';
import { batchName } from './words.ts';

/** Stories of batches that are not settled: five for each partition and producer, and those that were split or renumbered. */
const storiesMax = 200;

/** A batch as both sides name it: the producer that sends it, and the broker that is sent it. */
export type NamedBatch = Pick<BatchNumbers, 'partition' | 'producerId' | 'epoch' | 'baseSequence' | 'recordCount'>;

/** Tells of each batch with which something went wrong, and only of those. */
export class BatchStories {
  readonly #timeline: Timeline;
  readonly #stories = new Map<string, Story>();

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** Begins the batch's story, or goes on with it. */
  tell(batch: NamedBatch, tone: Tone, part: string): void {
    const story = this.#stories.get(keyOf(batch));
    if (story !== undefined) {
      story.add(part, tone);
      return;
    }
    const begun = this.#timeline.tell(tone, batchName(batch));
    begun.add(part);
    this.#stories.set(keyOf(batch), begun);
    for (const [key] of this.#stories) {
      if (this.#stories.size <= storiesMax) break;
      this.#stories.delete(key);
    }
  }

  /** Goes on with the batch's story, if it has one. */
  goOn(batch: NamedBatch, part: string, tone?: Tone): void {
    this.#stories.get(keyOf(batch))?.add(part, tone);
  }

  end(batch: NamedBatch, part: string, tone?: Tone): void {
    this.goOn(batch, part, tone);
    this.#stories.delete(keyOf(batch));
  }
}

function keyOf({ partition, producerId, epoch, baseSequence }: NamedBatch): string {
  return `${partition}/${producerId}/${epoch}/${baseSequence}`;
}
