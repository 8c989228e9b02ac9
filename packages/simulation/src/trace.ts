/** What happened in one run, line by line. Written only when somebody will read it. */
export class Trace {
  readonly isOn: boolean;
  readonly lines: string[] = [];
  readonly #nowMs: () => number;

  constructor(isOn: boolean, nowMs: () => number) {
    this.isOn = isOn;
    this.#nowMs = nowMs;
  }

  /** `what` is called only when the trace is on. */
  note(who: string, what: () => string): void {
    if (this.isOn) this.lines.push(`${this.#nowMs().toFixed(1).padStart(9)} ms  ${who.padEnd(12)} ${what()}`);
  }
}

export function showValue(value: unknown): string {
  if (value instanceof Error) return String(value);
  if (typeof value !== 'object') return String(value);
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner));
}
