import { isDeepStrictEqual } from 'node:util';
import type { ScriptItem, Table } from './script.ts';

/** What a scene tells the reader, item by item. */
export class Narration {
  readonly #show: (item: ScriptItem) => void;

  constructor(show: (item: ScriptItem) => void) {
    this.#show = show;
  }

  say(text: string): void {
    this.#show({ type: 'say', text });
  }

  event(text: string): void {
    this.#show({ type: 'event', text });
  }

  table(table: Table): void {
    this.#show({ type: 'table', ...table });
  }

  check(claim: string, held: boolean, detail?: string): void {
    this.#show({ type: 'check', claim, held, ...(detail === undefined ? {} : { detail }) });
  }

  /** Checks a value against what the text claims; both are shown when they differ. */
  checkEqual(claim: string, actual: unknown, expected: unknown): void {
    this.check(claim, isDeepStrictEqual(actual, expected), `expected ${shown(expected)}, saw ${shown(actual)}`);
  }
}

const shown = (value: unknown): string =>
  JSON.stringify(value, (_name, field) => (typeof field === 'bigint' ? String(field) : field)) ?? 'nothing';
