/** How often each thing happened, over many runs. */
export class Coverage {
  readonly counts: Map<string, number>;

  constructor(counts: Iterable<readonly [string, number]> = []) {
    this.counts = new Map(counts);
  }

  add(what: string, times = 1): void {
    if (times > 0) this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  }

  merge(other: Iterable<readonly [string, number]>): void {
    for (const [what, times] of other) this.add(what, times);
  }
}
