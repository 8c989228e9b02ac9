import { Lab } from './lab/lab.ts';
import { createLabCluster, watchableTimes } from './lab/lab-cluster.ts';
import { pagePlugin } from './page/index.ts';
import { checkPortIsFree } from './start/port.ts';
import { runUntilStopped } from './start/run.ts';
import { readSettings } from './start/settings.ts';
import { memoryPaymentsCluster } from './system/cluster/memory-payments-cluster.ts';
import { startPaymentSystem } from './system/payment-system.ts';

/** `npm run demo:web`: broker, database and keys in this process; nothing to install. */
await runUntilStopped(async () => {
  const { port } = readSettings(process.env);
  await checkPortIsFree(port);
  const cluster = createLabCluster();
  const { requestTimeoutMs, deliveryTimeoutMs } = watchableTimes;
  const system = await startPaymentSystem({
    cluster: memoryPaymentsCluster(cluster, { requestTimeoutMs, connectTimeoutMs: requestTimeoutMs }),
    database: 'pglite',
    notifications: 'memory',
    port,
    logger: false,
    // Batches that wait for the broker's answer would hardly ever be several on their way; a visitor is to see them.
    times: { requestTimeoutMs, deliveryTimeoutMs, lingerMs: 0 },
    instruments: [(running) => pagePlugin(new Lab({ system: running, cluster }))],
  });
  process.stdout.write(`Open ${system.url} in a browser. The API is there too: POST /payments. Ctrl-C stops it.\n`);
  return system;
});
