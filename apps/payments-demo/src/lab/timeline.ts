import type { TimelineEntry, Tone } from './snapshot.ts';

const entriesKept = 40;
const partsKept = 9;

const toneRank: Record<Tone, number> = { calm: 0, note: 1, trouble: 2, caught: 3, bad: 4 };

/** A story that is being told: it stays where it began, and grows. */
export interface Story extends TimelineEntry {
  /** Adds what happened next. The tone becomes the stronger one. */
  add(part: string, tone?: Tone): void;
  /** The last part was a count of this, and it went on. */
  replaceLast(part: string): void;
}

/** What happened, in words; the newest entries only. */
export class Timeline {
  #entries: Story[] = [];
  #lastId = 0;

  get entries(): readonly TimelineEntry[] {
    return this.#entries.map(({ id, tone, parts }) => ({ id, tone, parts: [...parts] }));
  }

  /** Whether it is the newest story, or the one before: what goes on is told there, and not in a new one. */
  isRecent(story: Story): boolean {
    return this.#entries.slice(-2).includes(story);
  }

  tell(tone: Tone, part: string): Story {
    const entry = new GrowingEntry(++this.#lastId, tone, part);
    this.#entries = [...this.#entries, entry].slice(-entriesKept);
    return entry;
  }
}

class GrowingEntry implements Story {
  readonly id: number;
  tone: Tone;
  parts: string[];
  /** The last two parts as they were told. */
  #lastTold: readonly [string, string];

  constructor(id: number, tone: Tone, part: string) {
    this.id = id;
    this.tone = tone;
    this.parts = [part];
    this.#lastTold = ['', part];
  }

  add(part: string, tone: Tone = this.tone): void {
    if (toneRank[tone] > toneRank[this.tone]) this.tone = tone;
    const [beforeLast, last] = this.#lastTold;
    if (part === last) return;
    if (part === beforeLast) {
      // No answer, sent again, no answer, sent again: told once.
      this.replaceLast(`${last}, and again`);
      return;
    }
    this.#lastTold = [last, part];
    // A story that goes on and on keeps its beginning and its newest part.
    if (this.parts.length < partsKept) this.parts.push(part);
    else this.parts = [...this.parts.slice(0, partsKept - 2), '…', part];
  }

  replaceLast(part: string): void {
    this.parts[this.parts.length - 1] = part;
  }
}
