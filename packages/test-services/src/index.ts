/** Services for tests, the demo and the benchmarks. Not published. */

export {
  apiKeys,
  type FaultKind,
  type FaultMatch,
  FaultPlan,
  type FaultRates,
  type OrderedFault,
  seededRandom,
} from './fault-proxy/faults.ts';
export { type FaultProxy, startFaultProxy } from './fault-proxy/proxy.ts';
export { type KafkaBehindProxy, startKafkaBehindProxy } from './kafka/behind-proxy.ts';
export type { BrokerState } from './kafka/broker-process.ts';
export type { SecuredListeners } from './kafka/broker-properties.ts';
export type { KafkaCluster, KafkaOptions, SecuredBootstrap } from './kafka/cluster.ts';
export { describedProducers } from './kafka/described-producers.ts';
export { rawRequest } from './kafka/raw-request.ts';
export { startKafka } from './kafka/start-kafka.ts';
export { createTopics, type NewTopic, readAllRecords, type StoredRecord, withAdmin } from './kafka/topics.ts';
export { cacheFolder } from './repository.ts';
