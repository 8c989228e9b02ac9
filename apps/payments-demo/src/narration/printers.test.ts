import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { JsonPrinter } from './json-printer.ts';
import type { Printer, ScriptItem } from './script.ts';
import { TextPrinter } from './text-printer.ts';

const script: ScriptItem[] = [
  { type: 'say', text: 'Three payments are sent.' },
  { type: 'event', text: 'the reply is lost' },
  { type: 'table', title: 'The log', columns: ['offset'], rows: [[40n]] },
  { type: 'check', claim: 'stored once', held: true, detail: 'not shown' },
  { type: 'check', claim: 'in order', held: false, detail: 'expected 1, saw 2' },
];

function printed(makePrinter: (stream: PassThrough) => Printer, stream = new PassThrough()): string {
  const printer = makePrinter(stream);
  printer.sceneStarts(3, 'A scene');
  for (const item of script) printer.item(item);
  printer.end({ checks: 2, failedChecks: ['in order'] });
  return String(stream.read());
}

describe('text', () => {
  it('is plain where the stream is no terminal', () => {
    expect(printed((stream) => new TextPrinter(stream))).toBe(
      [
        '',
        'Scene 3 · A scene',
        '─────────────────',
        '',
        'Three payments are sent.',
        '  » the reply is lost',
        '',
        '  The log',
        '  offset',
        '      40',
        '',
        '  ✓ stored once',
        '  ✗ FAILED in order: expected 1, saw 2',
        '',
        '1 of 2 checks FAILED:',
        '  in order',
        '',
      ].join('\n'),
    );
  });

  it('has colours on a terminal', () => {
    const before = { ...process.env };
    onTestFinished(() => {
      process.env = before;
    });
    for (const name of ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS']) delete process.env[name];
    const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 80, getColorDepth: () => 24 });
    expect(printed((stream) => new TextPrinter(stream), terminal)).toContain('\u001b[');
  });

  it('keeps to the width of a narrow terminal', () => {
    const stream = Object.assign(new PassThrough(), { columns: 32 });
    new TextPrinter(stream).item({ type: 'say', text: 'word '.repeat(30) });
    const lines = String(stream.read()).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(32);
    expect(lines.length).toBeGreaterThan(4);
  });
});

describe('JSON', () => {
  it('is one object a line, with its scene, and offsets as text', () => {
    const lines = printed((stream) => new JsonPrinter(stream))
      .trimEnd()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { scene: 3, type: 'scene', title: 'A scene' },
      { scene: 3, ...script[0] },
      { scene: 3, ...script[1] },
      { scene: 3, ...script[2], rows: [['40']] },
      { scene: 3, ...script[3] },
      { scene: 3, ...script[4] },
      { scene: null, type: 'end', checks: 2, failedChecks: ['in order'] },
    ]);
  });
});
