import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaCluster } from '@sendonce/test-services';
import type { PostgresService, RedisService } from '@sendonce/test-services/databases';
import type { ServiceProcess } from './service-process.ts';

export interface Scene {
  readonly kafka: KafkaCluster;
  readonly postgres: PostgresService;
  readonly redis: RedisService;
  /** Takes payments, and reads nothing. */
  readonly api: ServiceProcess;
  /** Reads, and is sent no payments. */
  readonly consumers: ServiceProcess;
}

export interface Trouble {
  readonly name: string;
  /** Resolves when everything is up again. */
  cause(): Promise<void>;
}

/** In the order in which they come, again and again. Each is over before the next begins. */
export function troublesOf({ kafka, postgres, redis, api, consumers }: Scene): Trouble[] {
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
        await sleep(7_000);
        await kafka.restart(brokerId);
      },
    },
    {
      name: 'Postgres crashed',
      cause: async () => {
        await postgres.stop('immediate');
        await sleep(3_000);
        await postgres.start();
      },
    },
    {
      name: 'Redis stopped',
      cause: async () => {
        await redis.stop();
        await sleep(3_000);
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
        await sleep(7_000);
        kafka.resume(brokerId);
      },
    },
  ];
}
