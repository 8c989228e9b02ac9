export type Cell = string | number | bigint;

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** What a scene has to show, in order. */
export type ScriptItem =
  /** A paragraph for the reader. */
  | { readonly type: 'say'; readonly text: string }
  /** Something that happened, one line. */
  | { readonly type: 'event'; readonly text: string }
  | ({ readonly type: 'table' } & Table)
  /** A claim, and whether it held. */
  | { readonly type: 'check'; readonly claim: string; readonly held: boolean; readonly detail?: string };

/** How the walkthrough is shown: as text, or as JSON. */
export interface Printer {
  sceneStarts(index: number, title: string): void;
  item(item: ScriptItem): void;
  end(summary: WalkthroughSummary): void;
}

export interface WalkthroughSummary {
  readonly checks: number;
  readonly failedChecks: readonly string[];
}
