import { createSimulatedRuntime, type SimulatedRuntime } from '@sendonce/producer-core/testing';
import { Narration } from '../narration/narration.ts';
import type { ScriptItem } from '../narration/script.ts';

export interface Scene {
  readonly title: string;
  /** Plays the scene on the stage's runtime, and checks what it claims. */
  readonly play: (stage: Stage) => Promise<void>;
}

/** What a scene plays on: virtual time, and a script that is shown to the reader afterwards. */
export class Stage extends Narration {
  readonly seed: number;
  readonly runtime: SimulatedRuntime;
  readonly script: readonly ScriptItem[];

  constructor(seed: number) {
    const script: ScriptItem[] = [];
    super((item) => script.push(item));
    this.script = script;
    this.seed = seed;
    this.runtime = createSimulatedRuntime({ seed, ties: 'fifo' });
  }

  /** Lets virtual time pass. */
  wait(durationMs: number): Promise<void> {
    return new Promise((resolve) => this.runtime.schedule(durationMs, resolve));
  }
}

/** Plays a scene to its end. A scene that throws has failed, and the script so far is still shown. */
export async function playScene(scene: Scene, seed: number): Promise<readonly ScriptItem[]> {
  const stage = new Stage(seed);
  try {
    await stage.runtime.runUntilSettled(scene.play(stage));
  } catch (error) {
    const { name, message } = error as Error;
    stage.check('the scene came to its end', false, `${name}: ${message}`);
  }
  return stage.script;
}
