import { startKafka } from '@sendonce/test-services';
import { startPostgres, startRedis } from '@sendonce/test-services/databases';
import type { Settings } from './settings.ts';

/** Where the real services are. */
export interface Services {
  readonly kafkaBrokers: readonly string[];
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Stops those that were started here. */
  close(): Promise<void>;
}

/** Uses the services that the settings name, and starts the others: a Kafka of three brokers, Postgres, Redis. They end with this process. */
export async function provideServices(settings: Settings, say: (line: string) => void): Promise<Services> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(closers.splice(0).map((each) => each()));
  };
  const started = async <T extends { close(): Promise<void> }>(name: string, start: () => Promise<T>): Promise<T> => {
    say(`starting ${name}`);
    const service = await start();
    closers.push(() => service.close());
    return service;
  };
  const [kafka, postgres, redis] = await Promise.allSettled([
    settings.kafkaBrokers ??
      started('Kafka, three brokers (the first time its jars are fetched with Maven)', async () => {
        const cluster = await startKafka({ brokers: 3 });
        return { bootstrap: cluster.bootstrap, close: () => cluster.stop() };
      }).then(({ bootstrap }) => bootstrap),
    settings.databaseUrl ?? started('Postgres', () => startPostgres()).then(({ url }) => url),
    settings.redisUrl ?? started('Redis', () => startRedis()).then(({ url }) => url),
  ]);
  const failed = [kafka, postgres, redis].find((result) => result.status === 'rejected');
  if (kafka.status === 'rejected' || postgres.status === 'rejected' || redis.status === 'rejected') {
    await close();
    throw failed?.reason;
  }
  return { kafkaBrokers: kafka.value, databaseUrl: postgres.value, redisUrl: redis.value, close };
}
