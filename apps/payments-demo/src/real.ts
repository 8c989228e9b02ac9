import { Lab } from './lab/lab.ts';
import { pagePlugin } from './page/index.ts';
import { checkPortIsFree } from './start/port.ts';
import { runUntilStopped } from './start/run.ts';
import { provideServices } from './start/services.ts';
import { readSettings } from './start/settings.ts';
import { kafkaPaymentsCluster } from './system/cluster/kafka-payments-cluster.ts';
import { startPaymentSystem } from './system/payment-system.ts';

/** `npm run demo:real`: on Kafka, Postgres and Redis, those of the environment or ones that are started for it. */
await runUntilStopped(async () => {
  const settings = readSettings(process.env);
  await checkPortIsFree(settings.port);
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const services = await provideServices(settings, say);
  try {
    const system = await startPaymentSystem({
      cluster: kafkaPaymentsCluster({
        brokers: services.kafkaBrokers,
        onConsumerProblem: (groupId, error) => say(`consumer ${groupId} starts again: ${error.message}`),
      }),
      database: { postgresUrl: services.databaseUrl },
      notifications: { redisUrl: services.redisUrl },
      port: settings.port,
      consumers: settings.consumers,
      instruments: [(running) => pagePlugin(new Lab({ system: running, cluster: null }))],
      logger: { level: settings.logLevel },
    });
    say(`Open ${system.url} in a browser. The API is there too: POST /payments. Ctrl-C stops it.`);
    return {
      close: async () => {
        await system.close();
        await services.close();
      },
    };
  } catch (error) {
    await services.close();
    throw error;
  }
});
