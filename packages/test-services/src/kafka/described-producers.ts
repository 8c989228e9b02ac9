import type { KafkaCluster } from './cluster.ts';

/** How many producers the broker remembers for partition 0 of the topic, as its own tool tells (DescribeProducers). */
export async function describedProducers(kafka: KafkaCluster, topic: string): Promise<number> {
  const output = await kafka.runTool('org.apache.kafka.tools.TransactionsCommand', [
    '--bootstrap-server',
    kafka.bootstrap[0]!,
    'describe-producers',
    '--topic',
    topic,
    '--partition',
    '0',
  ]);
  // The first line is the table's head.
  return output.trim().split('\n').length - 1;
}
