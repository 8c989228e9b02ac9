import { styleText } from 'node:util';
import type { Printer, ScriptItem, WalkthroughSummary } from './script.ts';
import { tableLines, wrap } from './text-layout.ts';

type Style = Parameters<typeof styleText>[0];

/** Where text goes: a terminal, a pipe, or a test. Colours appear only where the stream has them (`NO_COLOR` and `FORCE_COLOR` count). */
export type TextStream = NodeJS.WritableStream & { readonly columns?: number };

const widestText = 100;

export class TextPrinter implements Printer {
  readonly #stream: TextStream;
  #previous: ScriptItem['type'] | null = null;

  constructor(stream: TextStream) {
    this.#stream = stream;
  }

  sceneStarts(index: number, title: string): void {
    const heading = `Scene ${index} · ${title}`;
    this.#write(`\n${this.#paint(['bold', 'cyan'], heading)}\n${this.#paint('cyan', '─'.repeat(heading.length))}\n`);
  }

  item(item: ScriptItem): void {
    // What begins with an empty line needs none after a table.
    const isTight = item.type === 'event' || item.type === 'check';
    this.#write(`${this.#previous === 'table' && isTight ? '\n' : ''}${this.#textOf(item)}`);
    this.#previous = item.type;
  }

  end({ checks, failedChecks }: WalkthroughSummary): void {
    if (failedChecks.length === 0) {
      this.#write(`\n${this.#paint(['bold', 'green'], `All ${checks} checks held.`)}\n`);
    } else {
      this.#write(`\n${this.#paint(['bold', 'red'], `${failedChecks.length} of ${checks} checks FAILED:`)}\n`);
      for (const claim of failedChecks) this.#write(`  ${claim}\n`);
    }
  }

  #textOf(item: ScriptItem): string {
    switch (item.type) {
      case 'say':
        return `\n${this.#indented(item.text, '')}\n`;
      case 'event':
        return `${this.#paint('yellow', this.#indented(item.text, '  » '))}\n`;
      case 'table': {
        const [names, ...rows] = tableLines(item);
        const body = rows.length === 0 ? ['(empty)'] : rows;
        const heading = `\n  ${this.#paint('bold', item.title)}\n  ${this.#paint('dim', names!)}\n`;
        return `${heading}${body.map((row) => `  ${row}\n`).join('')}`;
      }
      case 'check': {
        const words = item.detail === undefined || item.held ? item.claim : `${item.claim}: ${item.detail}`;
        const line = this.#indented(words, item.held ? '  ✓ ' : '  ✗ FAILED ');
        return `${this.#paint(item.held ? 'green' : ['bold', 'red'], line)}\n`;
      }
    }
  }

  #indented(text: string, mark: string): string {
    // Some terminals say 0 when they don't know.
    const width = Math.min(widestText, this.#stream.columns || widestText) - mark.length - 1;
    return wrap(text, Math.max(20, width))
      .map((line, index) => (index === 0 ? mark : ' '.repeat(mark.length)) + line)
      .join('\n');
  }

  #paint(style: Style, text: string): string {
    return styleText(style, text, { stream: this.#stream });
  }

  #write(text: string): void {
    this.#stream.write(text);
  }
}
