/** Connects the sendonce producer to a Kafka cluster. */

export type { BrokerAddress, ConnectionOpener, OpenConnection } from './connection/connection-opener.ts';
export { createKafkaTransport } from './kafka-transport.ts';
export type { KafkaTransportOptions } from './options.ts';
