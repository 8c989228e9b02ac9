import type { Snapshot } from '../snapshot.ts';

/** Parts of the page that a moment of the lesson points at. */
export type Spotlight = 'producer' | 'log' | 'notebook' | 'replicas' | 'consumer' | 'ledger' | 'header';

/** One moment: the state, and what to see in it. */
export interface LessonFrame {
  readonly caption: string;
  readonly snapshot: Snapshot;
}

/** A field of a batch header, as it is in the stored bytes. */
export interface HeaderField {
  readonly field: string;
  readonly value: string;
  readonly meaning: string;
}

/** How to see the idea in the live system. */
export interface LessonLive {
  /** Its buttons, in the order in which they are pressed. One at least. */
  readonly actions: readonly string[];
  /** What to look at there. */
  readonly watch: string;
}

/** One idea of the lesson, played from a fresh start up to its end. As the page is told it. */
export interface LessonStep {
  /** From 1. */
  readonly step: number;
  readonly steps: number;
  readonly title: string;
  /** What it is about, in a few sentences. */
  readonly text: string;
  readonly spotlight: readonly Spotlight[];
  /** What happens, one moment after the other. One at least. */
  readonly frames: readonly LessonFrame[];
  /** The header of a stored batch, for the step that explains it. */
  readonly header: readonly HeaderField[] | null;
  readonly live: LessonLive;
}
