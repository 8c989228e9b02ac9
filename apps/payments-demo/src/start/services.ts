import { type KafkaBehindProxy, startKafkaBehindProxy } from '@sendonce/test-services';
import { startPostgres, startRedis } from '@sendonce/test-services/databases';
import type { Settings } from './settings.ts';

/** A broker that died is missed after two seconds instead of Kafka’s nine: somebody is watching. */
const quickToMiss = { 'broker.session.timeout.ms': 2_000, 'broker.heartbeat.interval.ms': 500 };

/** Where the real services are. */
export interface Services {
  readonly kafkaBrokers: readonly string[];
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The Kafka that was started here, to be broken on purpose; `null` when one was named. */
  readonly ownKafka: KafkaBehindProxy | null;
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
  let ownKafka: KafkaBehindProxy | null = null;
  const [kafka, postgres, redis] = await Promise.allSettled([
    settings.kafkaBrokers ??
      started('Kafka, three brokers (the first time its jars are fetched with Maven)', async () => {
        const behindProxy = await startKafkaBehindProxy({ brokers: 3, config: quickToMiss });
        ownKafka = behindProxy;
        return { bootstrap: behindProxy.bootstrap, close: () => behindProxy.stop() };
      }).then(({ bootstrap }) => bootstrap),
    settings.databaseUrl ?? started('Postgres', () => startPostgres()).then(({ url }) => url),
    settings.redisUrl ?? started('Redis', () => startRedis()).then(({ url }) => url),
  ]);
  const failed = [kafka, postgres, redis].find((result) => result.status === 'rejected');
  if (kafka.status === 'rejected' || postgres.status === 'rejected' || redis.status === 'rejected') {
    await close();
    throw failed?.reason;
  }
  return { kafkaBrokers: kafka.value, databaseUrl: postgres.value, redisUrl: redis.value, ownKafka, close };
}
