import { describe, expect, it } from 'vitest';
import { noPauses } from './narration/pace.ts';
import type { Printer, ScriptItem } from './narration/script.ts';
import type { Scene } from './scenes/stage.ts';
import { runWalkthrough, type WalkthroughOptions } from './walkthrough.ts';

class RecordingPrinter implements Printer {
  readonly shown: (string | ScriptItem)[] = [];
  sceneStarts(index: number, title: string): void {
    this.shown.push(`${index} ${title}`);
  }
  item(item: ScriptItem): void {
    this.shown.push(item);
  }
  end(): void {
    this.shown.push('end');
  }
}

const scene = (title: string, play: Scene['play']): Scene => ({ title, play });

function run(scenes: Scene[], options: Partial<WalkthroughOptions> = {}) {
  const printer = new RecordingPrinter();
  const { signal } = new AbortController();
  return { printer, summary: runWalkthrough({ scenes, seed: 1, printer, pace: noPauses, signal, ...options }) };
}

describe('a walkthrough', () => {
  const first = scene('First', async (stage) => stage.check('a holds', true));
  const second = scene('Second', async (stage) => stage.checkEqual('b is two', 1n, 2n));

  it('shows every scene, and counts the checks that failed', async () => {
    const { printer, summary } = run([first, second]);
    expect(await summary).toEqual({ checks: 2, failedChecks: ['b is two'] });
    expect(printer.shown).toEqual([
      '0 First',
      { type: 'check', claim: 'a holds', held: true },
      '1 Second',
      { type: 'check', claim: 'b is two', held: false, detail: 'expected "2", saw "1"' },
      'end',
    ]);
  });

  it('shows one scene alone', async () => {
    const { printer, summary } = run([first, second], { only: 1 });
    expect(await summary).toEqual({ checks: 1, failedChecks: ['b is two'] });
    expect(printer.shown[0]).toBe('1 Second');
  });

  it('a scene that throws has failed; what it showed before is still shown, and the next scene is played', async () => {
    const broken = scene('Broken', async (stage) => {
      stage.say('So far so good.');
      throw new TypeError('no such broker');
    });
    const { printer, summary } = run([broken, first]);
    expect(await summary).toEqual({ checks: 2, failedChecks: ['the scene came to its end'] });
    expect(printer.shown.slice(1, 3)).toEqual([
      { type: 'say', text: 'So far so good.' },
      { type: 'check', claim: 'the scene came to its end', held: false, detail: 'TypeError: no such broker' },
    ]);
  });

  it('a scene that waits for something that never happens has failed', async () => {
    const { summary } = run([scene('Hangs', () => new Promise(() => {}))]);
    expect((await summary).failedChecks).toEqual(['the scene came to its end']);
  });

  it('a walkthrough in which nothing was checked has failed', async () => {
    const { summary } = run([scene('Silent', async () => {})]);
    expect((await summary).failedChecks).toHaveLength(1);
  });

  it('a scene plays on virtual time: a day passes at once', async () => {
    const patient = scene('Patient', async (stage) => {
      await stage.wait(86_400_000);
      stage.checkEqual('a day passed', stage.runtime.monotonicMs(), 86_400_000);
    });
    expect((await run([patient]).summary).failedChecks).toEqual([]);
  });

  it('stops between two items when the reader presses Ctrl-C', async () => {
    const interruption = new AbortController();
    const { printer, summary } = run([first, second], {
      signal: interruption.signal,
      pace: async () => interruption.abort(),
    });
    await expect(summary).rejects.toThrow();
    expect(printer.shown).toHaveLength(3);
  });
});
