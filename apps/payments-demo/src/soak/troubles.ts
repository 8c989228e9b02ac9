import type { Scene } from './scene.ts';

export interface Trouble {
  readonly name: string;
  /** Resolves when everything is up again. */
  readonly cause: () => Promise<void>;
}

/** Longer than a broker's session: its partitions get other leaders. */
const brokerAwayMs = 7_000;
const databaseAwayMs = 3_000;

/**
 * In the order in which they come, again and again. Each is over before the next begins.
 * @param pause How it waits while something is away.
 */
export function troublesOf(
  { kafka, postgres, redis, api, consumers }: Scene,
  pause: (durationMs: number) => Promise<void>,
): Trouble[] {
  let rounds = 0;
  return [
    {
      name: 'consumers killed',
      cause: async () => {
        await consumers.end('SIGKILL');
        await consumers.start();
      },
    },
    {
      name: 'API killed',
      cause: async () => {
        await api.end('SIGKILL');
        await api.start();
      },
    },
    {
      name: 'a broker killed',
      cause: async () => {
        const brokerId = kafka.brokerIds[rounds++ % kafka.brokerIds.length]!;
        await kafka.kill(brokerId);
        await pause(brokerAwayMs);
        await kafka.restart(brokerId);
      },
    },
    {
      name: 'Postgres crashed',
      cause: async () => {
        await postgres.stop('immediate');
        await pause(databaseAwayMs);
        await postgres.start();
      },
    },
    {
      name: 'Redis stopped',
      cause: async () => {
        await redis.stop();
        await pause(databaseAwayMs);
        await redis.start();
      },
    },
    {
      name: 'API told to stop in the middle of its work',
      cause: async () => {
        const status = await api.end('SIGTERM');
        if (status !== 0) throw new Error(`The API ended with status ${status}:\n${api.output}`);
        await api.start();
      },
    },
    {
      name: 'a broker frozen',
      cause: async () => {
        const brokerId = kafka.brokerIds[rounds++ % kafka.brokerIds.length]!;
        kafka.freeze(brokerId);
        await pause(brokerAwayMs);
        kafka.resume(brokerId);
      },
    },
  ];
}
