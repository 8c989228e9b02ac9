import type { KafkaCluster } from './cluster.ts';
import { createTopics, readAllRecords } from './topics.ts';

/** A cluster that somebody else started: it can be used, not stopped, frozen or looked into. */
export function externalCluster(bootstrap: readonly string[]): KafkaCluster {
  const refuse = (action: string) => (): never => {
    throw new Error(`Can't ${action}: the cluster at KAFKA_BROKERS was not started by this process.`);
  };
  return {
    brokerIds: bootstrap.map((_, i) => i + 1),
    bootstrap,
    proxiedPorts: [],
    secured: undefined,
    brokerPort: (brokerId) => Number(bootstrap[brokerId - 1]?.split(':')[1]),
    pid: refuse('tell a process id'),
    state: () => 'running',
    logDir: refuse('read the log folder'),
    freeze: refuse('freeze a broker'),
    resume: refuse('resume a broker'),
    kill: refuse('kill a broker'),
    restart: refuse('restart a broker'),
    createTopic: (topic) => createTopics(bootstrap, [topic]),
    readAll: (topic) => readAllRecords(bootstrap, topic),
    runTool: refuse("run Kafka's tools"),
    stop: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}
