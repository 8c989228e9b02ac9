/** What a client under test offers. `send` resolves at the acknowledgement. */
export interface Subject {
  send(): Promise<unknown>;
  /** Hands over one record; returns a promise when the caller must wait. Where a client has no such call, absent. */
  enqueue?(): Promise<unknown> | undefined;
  /** Records acknowledged so far by what `enqueue` took. */
  acknowledged?(): number;
  flush?(): Promise<unknown>;
  close(): Promise<unknown>;
}

export interface Figures {
  readonly recordsPerSecond: number;
  readonly refused: number;
  readonly cpuNsPerRecord: number;
  /** The most that the process ever held. */
  readonly rssMiB: number;
  /** The median, where there is one caller. */
  readonly latencyUs?: number;
}

const recordsPerTurn = 1_000;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** `callers` loops, each with one record on its way; or one loop that does not wait, when `callers` is `enqueue`. */
export async function measure(subject: Subject, callers: number | 'enqueue', seconds: number): Promise<Figures> {
  const before = process.cpuUsage();
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1000;
  let acknowledged = 0;
  let refused = 0;
  const latenciesMs: number[] = [];
  if (callers === 'enqueue') {
    if (!subject.enqueue || !subject.flush || !subject.acknowledged)
      throw new Error('This client can only send and wait.');
    while (performance.now() < endMs) {
      for (let i = 0; i < recordsPerTurn; i++) await subject.enqueue();
      await turn();
    }
    await subject.flush();
    acknowledged = subject.acknowledged();
  } else {
    await Promise.all(
      Array.from({ length: callers }, async () => {
        let nowMs = performance.now();
        while (nowMs < endMs) {
          try {
            await subject.send();
            acknowledged++;
          } catch {
            refused++;
          }
          const beforeMs = nowMs;
          nowMs = performance.now();
          if (callers === 1) latenciesMs.push(nowMs - beforeMs);
        }
      }),
    );
  }
  const elapsedMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(before);
  return {
    recordsPerSecond: Math.round(acknowledged / (elapsedMs / 1000)),
    refused,
    cpuNsPerRecord: Math.round(((user + system) * 1000) / Math.max(1, acknowledged)),
    rssMiB: Math.round(process.resourceUsage().maxRSS / 1024),
    ...(callers === 1 ? { latencyUs: Math.round(median(latenciesMs) * 1000) } : {}),
  };
}

const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[figures.length >> 1] ?? Number.NaN;

const windowSeconds = 1;

/** Several windows of a second in a row; the one with the most records counts, since others use the machine, too. */
export async function measureBest(subject: Subject, callers: number | 'enqueue', seconds: number): Promise<Figures> {
  let best: Figures | undefined;
  for (let passed = 0; passed < seconds; passed += windowSeconds) {
    const before = subject.acknowledged?.() ?? 0;
    const counted = { ...subject, acknowledged: () => (subject.acknowledged?.() ?? 0) - before };
    const figures = await measure(counted, callers, windowSeconds);
    if (figures.recordsPerSecond >= (best?.recordsPerSecond ?? 0)) best = figures;
  }
  return best!;
}
