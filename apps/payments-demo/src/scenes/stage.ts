import { isDeepStrictEqual } from 'node:util';
import { createSimulatedRuntime, type SimulatedRuntime } from '@sendonce/producer-core/testing';
import type { ScriptItem, Table } from '../narration/script.ts';

export interface Scene {
  readonly title: string;
  /** Plays the scene on the stage's runtime, and checks what it claims. */
  readonly play: (stage: Stage) => Promise<void>;
}

/** What a scene plays on: virtual time, and a script that is shown to the reader afterwards. */
export class Stage {
  readonly seed: number;
  readonly runtime: SimulatedRuntime;
  readonly #script: ScriptItem[] = [];

  constructor(seed: number) {
    this.seed = seed;
    this.runtime = createSimulatedRuntime({ seed, ties: 'fifo' });
  }

  get script(): readonly ScriptItem[] {
    return this.#script;
  }

  say(text: string): void {
    this.#script.push({ type: 'say', text });
  }

  event(text: string): void {
    this.#script.push({ type: 'event', text });
  }

  table(table: Table): void {
    this.#script.push({ type: 'table', ...table });
  }

  check(claim: string, held: boolean, detail?: string): void {
    this.#script.push({ type: 'check', claim, held, ...(detail === undefined ? {} : { detail }) });
  }

  /** Checks a value against what the text claims; both are shown when they differ. */
  checkEqual(claim: string, actual: unknown, expected: unknown): void {
    this.check(claim, isDeepStrictEqual(actual, expected), `expected ${shown(expected)}, saw ${shown(actual)}`);
  }

  /** Lets virtual time pass. */
  wait(durationMs: number): Promise<void> {
    return new Promise((resolve) => this.runtime.schedule(durationMs, resolve));
  }
}

const shown = (value: unknown): string =>
  JSON.stringify(value, (_name, field) => (typeof field === 'bigint' ? String(field) : field)) ?? 'nothing';

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
