/** One of the things compared. `work` does `units` of it. */
export interface Subject {
  readonly name: string;
  readonly units: number;
  work(): Promise<void>;
}

export interface Measured {
  readonly name: string;
  readonly unitsPerSecond: number;
}

const TURN_MS = 250;

/** Runs the subjects in short turns until each had its seconds, so that what else the machine does hits them alike. */
export async function inTurns(subjects: readonly Subject[], seconds: number): Promise<Measured[]> {
  const spent = subjects.map(() => ({ units: 0, ms: 0 }));
  for (const subject of subjects) await subject.work();
  while (spent.some(({ ms }) => ms < seconds * 1000)) {
    for (const [index, { units, work }] of subjects.entries()) {
      const total = spent[index]!;
      const startMs = performance.now();
      while (performance.now() - startMs < TURN_MS) {
        await work();
        total.units += units;
      }
      total.ms += performance.now() - startMs;
    }
  }
  return subjects.map(({ name }, index) => ({ name, unitsPerSecond: (spent[index]!.units / spent[index]!.ms) * 1000 }));
}
