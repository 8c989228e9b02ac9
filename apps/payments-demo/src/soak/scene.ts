import { type KafkaCluster, startKafka } from '@sendonce/test-services';
import { type PostgresService, type RedisService, startPostgres, startRedis } from '@sendonce/test-services/databases';
import { freePort } from './free-port.ts';
import { ServiceProcess } from './service-process.ts';

/** Real services, and the payment system on them in two processes. */
export interface Scene extends AsyncDisposable {
  readonly kafka: KafkaCluster;
  readonly postgres: PostgresService;
  readonly redis: RedisService;
  /** Takes payments, and reads nothing. */
  readonly api: ServiceProcess;
  /** Reads, and is sent no payments. */
  readonly consumers: ServiceProcess;
}

/** A dead broker is noticed this fast. */
const brokerSessionTimeoutMs = 4_000;

/** Resolves when both processes are ready. Everything is the scene's own, since it is killed. */
export async function openScene(): Promise<Scene> {
  await using opened = new AsyncDisposableStack();
  const [kafka, postgres, redis] = await Promise.all([
    startKafka({ brokers: 3, config: { 'broker.session.timeout.ms': brokerSessionTimeoutMs } }).then((service) =>
      opened.use(service),
    ),
    startPostgres({ own: true }).then((service) => opened.use(service)),
    startRedis({ own: true }).then((service) => opened.use(service)),
  ]);
  const environment = {
    KAFKA_BROKERS: kafka.bootstrap.join(','),
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    LOG_LEVEL: 'warn',
  };
  const api = new ServiceProcess('API', await freePort(), { ...environment, CONSUMERS: 'off' });
  const consumers = new ServiceProcess('consumers', await freePort(), environment);
  for (const each of [api, consumers]) opened.defer(() => each.end('SIGKILL').then(() => undefined));
  await Promise.all([api.start(), consumers.start()]);
  const all = opened.move();
  return { kafka, postgres, redis, api, consumers, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
