import type { Printer, ScriptItem, WalkthroughSummary } from './script.ts';

/** One JSON object a line; BigInts as text. */
export class JsonPrinter implements Printer {
  readonly #stream: NodeJS.WritableStream;
  #scene: number | null = null;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
  }

  sceneStarts(index: number, title: string): void {
    this.#scene = index;
    this.#write({ type: 'scene', title });
  }

  item(item: ScriptItem): void {
    this.#write(item);
  }

  end(summary: WalkthroughSummary): void {
    this.#scene = null;
    this.#write({ type: 'end', ...summary });
  }

  #write(object: object): void {
    const plain = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
    this.#stream.write(`${JSON.stringify({ scene: this.#scene, ...object }, plain)}\n`);
  }
}
