import type { StormOptions, StormReport } from './storm.ts';

/** One storm, as a line of JSON in `results.jsonl`. */
export type StormResult = Omit<StormOptions, 'hooks' | 'trace'> &
  StormReport & {
    readonly date: string;
    /** Of telemetry; 0 for other clients. */
    readonly spans: number;
    readonly openSpans: number;
  };

export function readResults(text: string): StormResult[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StormResult);
}
