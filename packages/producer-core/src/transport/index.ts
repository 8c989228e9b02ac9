/** The transport contract: for people who write transports. */

export { ConfigError, ProtocolError, SendonceError, TransportError } from '../errors.ts';
export { platformRuntime, type Runtime, type TimerHandle } from '../runtime.ts';
export { type ProtocolErrorName, protocolErrorCodes, protocolErrorName } from './protocol-errors.ts';
export type {
  Acks,
  BrokerMetadata,
  ClusterMetadata,
  PartitionMetadata,
  PartitionResult,
  ProducePartition,
  ProduceRequest,
  ProducerIdentity,
  TopicMetadata,
  Transport,
} from './transport.ts';
