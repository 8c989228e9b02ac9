import { setTimeout as sleep } from 'node:timers/promises';

export interface SteadyRun {
  /** Grows while it runs. */
  readonly acknowledged: readonly number[];
  /** Sends no more, and resolves when everything is settled. */
  end(): Promise<{ readonly acknowledged: readonly number[]; readonly failures: readonly Error[] }>;
}

const failuresMax = 100;

/** Sends serial numbers, one when the last is settled, until it is ended or much has failed. */
export function sendSteadily(send: (serial: number) => Promise<unknown>): SteadyRun {
  const acknowledged: number[] = [];
  const failures: Error[] = [];
  let isOver = false;
  const done = (async () => {
    for (let serial = 0; !isOver && failures.length < failuresMax; serial++) {
      try {
        await send(serial);
        acknowledged.push(serial);
      } catch (error) {
        failures.push(error as Error);
      }
    }
  })();
  const end = async () => {
    isOver = true;
    await done;
    return { acknowledged, failures };
  };
  return { acknowledged, end };
}

/** Looks again and again, and fails after `timeoutMs`. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await sleep(10);
  }
}
