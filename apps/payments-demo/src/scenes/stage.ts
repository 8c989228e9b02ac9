import type { DedupHooks } from '@sendonce/consumer-dedup';
import type { ProducerHooks } from '@sendonce/producer-core';
import { createSimulatedRuntime, type SimulatedRuntime } from '@sendonce/producer-core/testing';
import { Narration } from '../narration/narration.ts';
import type { ScriptItem } from '../narration/script.ts';

export interface Scene {
  readonly title: string;
  /** Plays on the platform's clock: the stage's runtime stands still. For what does real input and output. */
  readonly inRealTime?: true;
  /** Plays the scene on the stage's runtime, and checks what it claims. */
  readonly play: (stage: Stage) => Promise<void>;
}

/** Who looks on: what producers and deduplicators of the scene tell. */
export interface StageHooks {
  readonly producer: ProducerHooks;
  readonly dedup: DedupHooks;
}

const nobody: StageHooks = { producer: {}, dedup: {} };

/** What a scene plays on: virtual time, and a script that is shown to the reader afterwards. */
export class Stage extends Narration {
  readonly seed: number;
  readonly runtime: SimulatedRuntime;
  readonly script: readonly ScriptItem[];
  readonly hooks: StageHooks;

  constructor(seed: number, hooksOn: (runtime: SimulatedRuntime) => StageHooks = () => nobody) {
    const script: ScriptItem[] = [];
    super((item) => script.push(item));
    this.script = script;
    this.seed = seed;
    this.runtime = createSimulatedRuntime({ seed, ties: 'fifo' });
    this.hooks = hooksOn(this.runtime);
  }

  /** Lets virtual time pass. */
  wait(durationMs: number): Promise<void> {
    return new Promise((resolve) => this.runtime.schedule(durationMs, resolve));
  }
}

/** Plays a scene to its end. A scene that throws has failed, and the script so far is still shown. */
export async function playScene(
  scene: Scene,
  seed: number,
  hooksOn?: (runtime: SimulatedRuntime) => StageHooks,
): Promise<readonly ScriptItem[]> {
  const stage = new Stage(seed, hooksOn);
  try {
    const playing = scene.play(stage);
    await (scene.inRealTime ? playing : stage.runtime.runUntilSettled(playing));
  } catch (error) {
    const { name, message } = error as Error;
    stage.check('the scene came to its end', false, `${name}: ${message}`);
  }
  return stage.script;
}
