import { createMemoryCluster } from '@sendonce/transport-memory';
import { runUntilStopped } from './start/run.ts';
import { readSettings } from './start/settings.ts';
import { memoryPaymentsCluster } from './system/cluster/memory-payments-cluster.ts';
import { startPaymentSystem } from './system/payment-system.ts';

/** `npm run demo:web`: broker, database and keys in this process; nothing to install. */
await runUntilStopped(async () => {
  const { port } = readSettings(process.env);
  const system = await startPaymentSystem({
    cluster: memoryPaymentsCluster(createMemoryCluster({ brokers: 3 })),
    database: 'pglite',
    notifications: 'memory',
    port,
    logger: false,
  });
  process.stdout.write(`The payment system listens on ${system.url}. Ctrl-C stops it.\n`);
  return system;
});
