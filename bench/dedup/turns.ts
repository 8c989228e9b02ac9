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
/** Not counted: a consumer runs for days, and its code is compiled by then. */
const WARM_UP_TURNS = 4;

/**
 * Runs the subjects in short turns until each had its seconds, so that what else the machine does hits them alike. Without warming up where
 * each turn adds to what is measured.
 */
export async function inTurns(
  subjects: readonly Subject[],
  seconds: number,
  warmUpTurns = WARM_UP_TURNS,
): Promise<Measured[]> {
  const spent = subjects.map(() => ({ units: 0, ms: 0 }));
  for (let round = 0; spent.some(({ ms }) => ms < seconds * 1000); round++) {
    for (const [index, subject] of subjects.entries()) {
      const { units, ms } = await turnOf(subject);
      if (round < warmUpTurns) continue;
      spent[index]!.units += units;
      spent[index]!.ms += ms;
    }
  }
  return subjects.map(({ name }, index) => ({ name, unitsPerSecond: (spent[index]!.units / spent[index]!.ms) * 1000 }));
}

async function turnOf({ units, work }: Subject): Promise<{ units: number; ms: number }> {
  const startMs = performance.now();
  let done = 0;
  while (performance.now() - startMs < TURN_MS) {
    await work();
    done += units;
  }
  return { units: done, ms: performance.now() - startMs };
}
