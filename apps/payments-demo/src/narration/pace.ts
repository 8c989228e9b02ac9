import { setTimeout as sleep } from 'node:timers/promises';
import type { ScriptItem } from './script.ts';

/** How long a reader gets for an item before the next one appears. */
export function readingTimeMs(item: ScriptItem): number {
  switch (item.type) {
    case 'say':
      return 200 + 4 * item.text.length;
    case 'table':
      return 400 + 80 * item.rows.length;
    case 'event':
      return 280;
    case 'check':
      return 350;
  }
}

/** Waits so that a reader can follow. Rejects when `signal` is aborted. */
export type Pace = (item: ScriptItem) => Promise<void>;

export const noPauses: Pace = () => Promise.resolve();

export function readersPace(signal: AbortSignal): Pace {
  return (item) => sleep(readingTimeMs(item), undefined, { signal });
}
