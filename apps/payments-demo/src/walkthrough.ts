import type { Pace } from './narration/pace.ts';
import type { Printer, ScriptItem, WalkthroughSummary } from './narration/script.ts';
import { playScene, type Scene } from './scenes/stage.ts';

export interface WalkthroughOptions {
  readonly scenes: readonly Scene[];
  /** Index of the only scene to show. */
  readonly only?: number | undefined;
  readonly seed: number;
  readonly printer: Printer;
  readonly pace: Pace;
  /** Ends the walkthrough between two items. */
  readonly signal: AbortSignal;
}

/** Collects the checks of what is shown. */
export class Verdict {
  #checks = 0;
  readonly #failed: string[] = [];

  note(item: ScriptItem): void {
    if (item.type !== 'check') return;
    this.#checks += 1;
    if (!item.held) this.#failed.push(item.claim);
  }

  /** A walkthrough without a check has shown nothing, and so has failed. */
  get summary(): WalkthroughSummary {
    const failedChecks = this.#checks === 0 ? ['something was checked'] : [...this.#failed];
    return { checks: this.#checks, failedChecks };
  }
}

/** Plays the scenes one after the other and shows them at the reader's pace. Rejects when `signal` is aborted. */
export async function runWalkthrough({
  scenes,
  only,
  seed,
  printer,
  pace,
  signal,
}: WalkthroughOptions): Promise<WalkthroughSummary> {
  const verdict = new Verdict();
  for (const [index, scene] of scenes.entries()) {
    if (only !== undefined && index !== only) continue;
    printer.sceneStarts(index, scene.title);
    for (const item of await playScene(scene, seed)) {
      signal.throwIfAborted();
      printer.item(item);
      verdict.note(item);
      await pace(item);
    }
  }
  printer.end(verdict.summary);
  return verdict.summary;
}
