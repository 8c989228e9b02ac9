/**
 * A real Kafka on loopback, until Ctrl-C:
 *
 *   node scripts/services/kafka.ts start [--brokers 1|3] [--version 4.1.1|3.9.1]
 */
import { parseArgs } from 'node:util';
import { startKafka } from '@sendonce/test-services';

const usage = 'usage: node scripts/services/kafka.ts start [--brokers 1|3] [--version 4.1.1|3.9.1]';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { brokers: { type: 'string', default: '1' }, version: { type: 'string', default: '4.1.1' } },
});
const brokers = Number(values.brokers);
const { version } = values;
if (positionals[0] !== 'start' || (brokers !== 1 && brokers !== 3) || (version !== '4.1.1' && version !== '3.9.1')) {
  console.error(usage);
  process.exit(2);
}

const kafka = await startKafka({ brokers, version });
console.log(`Kafka ${version} is ready: ${kafka.bootstrap.join(',')}\nCtrl-C ends it and removes its data.`);
const hold = setInterval(() => {}, 60_000);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    clearInterval(hold);
    await kafka.stop();
  });
}
