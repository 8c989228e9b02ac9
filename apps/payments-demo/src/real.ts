import { noFaults } from './lab/cluster-faults.ts';
import { kafkaFaults } from './lab/kafka-faults.ts';
import { Lab } from './lab/lab.ts';
import type { LabTimes } from './lab/lab-cluster.ts';
import { pagePlugin } from './page/index.ts';
import { checkPortIsFree } from './start/port.ts';
import { runUntilStopped } from './start/run.ts';
import { provideServices } from './start/services.ts';
import { readSettings } from './start/settings.ts';
import { kafkaPaymentsCluster } from './system/cluster/kafka-payments-cluster.ts';
import { startPaymentSystem } from './system/payment-system.ts';

/** The system’s own. Real brokers take a while to notice that one of them is gone, and longer to start. */
const times: LabTimes = { requestTimeoutMs: 2_000, deliveryTimeoutMs: 8_000, outageMs: 8_000 };

/** `npm run demo:real`: on Kafka, Postgres and Redis, those of the environment or ones that are started for it. */
await runUntilStopped(async () => {
  const settings = readSettings(process.env);
  await checkPortIsFree(settings.port);
  const { requestTimeoutMs, deliveryTimeoutMs } = times;
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
      // Batches that wait for the broker's answer would hardly ever be several on their way; a visitor is to see them.
      times: { requestTimeoutMs, deliveryTimeoutMs, lingerMs: 0 },
      instruments: [
        (running) => {
          const faults = services.ownKafka === null ? noFaults : kafkaFaults(services.ownKafka, running.events);
          return pagePlugin(new Lab({ system: running, cluster: null, faults, times }));
        },
      ],
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
