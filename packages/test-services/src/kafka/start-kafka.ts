import { type KafkaCluster, type KafkaOptions, startOwnKafka } from './cluster.ts';
import { externalCluster } from './external-cluster.ts';

/**
 * A real Kafka for a test: the one that KAFKA_BROKERS names (`HOST:PORT,HOST:PORT`), else brokers that this process starts and
 * that end with it. Whoever needs control over the brokers (`config`, `advertise`, `secured`, `version`) always gets its own.
 */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaCluster> {
  const there = process.env.KAFKA_BROKERS;
  const needsOwn = options.config ?? options.advertise ?? options.secured ?? options.version;
  if (there && needsOwn === undefined) return externalCluster(there.split(',').map((address) => address.trim()));
  return startOwnKafka(options);
}
