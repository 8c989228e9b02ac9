import {
  type BrokerMetadata,
  type ClusterMetadata,
  type PartitionResult,
  type ProduceRequest,
  type ProducerIdentity,
  type Transport,
  TransportError,
} from '@sendonce/producer-core/transport';
import { BrokerLink, closedError } from './connection/broker-link.ts';
import type { Call } from './connection/call.ts';
import { InitProducerIdCall, MetadataCall, ProduceCall } from './connection/calls.ts';
import { addressText, type BrokerAddress, type ConnectionOpener } from './connection/connection-opener.ts';
import { ControlLinks } from './control-links.ts';
import { kafkajsOpener } from './kafkajs-opener.ts';
import { type KafkaTransportOptions, type ResolvedOptions, resolveOptions } from './options.ts';
import { supportedVersions, type VersionRanges } from './protocol/api-keys.ts';
import { TopicNames } from './protocol/topic-names.ts';

/**
 * A transport to a Kafka cluster (2.8 to 4.x, or whatever speaks its protocol). Opens nothing until it is used.
 *
 * Throws `ConfigError` for an option that is unknown, wrong, or in conflict with another.
 */
export function createKafkaTransport(options: KafkaTransportOptions): Transport {
  return new KafkaTransport(resolveOptions(options), supportedVersions);
}

type MakeCall<T> = (resolve: (value: T) => void, reject: (error: Error) => void) => Call;

export class KafkaTransport implements Transport {
  readonly #options: ResolvedOptions;
  readonly #versions: VersionRanges;
  readonly #opener: ConnectionOpener;
  readonly #clientId: Uint8Array;
  readonly #names = new TopicNames();
  /** As metadata and leader hints told; one entry for each broker of the cluster. */
  readonly #brokers = new Map<number, BrokerAddress>();
  readonly #produceLinks = new Map<number, BrokerLink>();
  readonly #controlLinks: ControlLinks;
  #isClosed = false;

  constructor(options: ResolvedOptions, versions: VersionRanges) {
    this.#options = options;
    this.#versions = versions;
    this.#clientId = Buffer.from(options.clientId);
    this.#opener = options.connectionOpener ?? openerOf(options);
    const book = { known: () => [...this.#brokers.values()], bootstrap: options.bootstrap };
    this.#controlLinks = new ControlLinks(book, (address) => this.#createLink(address), options.runtime.monotonicMs);
  }

  async connect(signal?: AbortSignal): Promise<void> {
    this.#assertOpen();
    if (!signal) {
      await this.#controlLinks.connected();
      return;
    }
    const aborted = Promise.withResolvers<never>();
    const onAbort = () =>
      aborted.reject(
        new TransportError('Connecting was aborted.', { sent: 'no', code: 'ABORTED', cause: signal.reason }),
      );
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([aborted.promise, this.#controlLinks.connected(signal)]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#controlLinks.close();
    for (const link of this.#produceLinks.values()) link.close();
    this.#produceLinks.clear();
  }

  async metadata(topics: readonly string[]): Promise<ClusterMetadata> {
    const request = { topics, allowAutoTopicCreation: this.#options.allowAutoTopicCreation };
    const reply = await this.#askAnyBroker<ClusterMetadata>(
      (resolve, reject) => new MetadataCall(request, resolve, reject),
    );
    this.#learnBrokers(reply.brokers);
    await this.#controlLinks.prune();
    return { brokers: reply.brokers, topics: reply.topics };
  }

  initProducerId(): Promise<ProducerIdentity> {
    return this.#askAnyBroker<ProducerIdentity>((resolve, reject) => new InitProducerIdCall(resolve, reject));
  }

  produce(brokerId: number, request: ProduceRequest): Promise<PartitionResult[]> {
    return new Promise((resolve, reject) => {
      const link = this.#produceLinks.get(brokerId) ?? this.#createProduceLink(brokerId);
      const call = new ProduceCall(request, this.#names, this.#onEndpoints, resolve, reject);
      link.submit(call, request.timeoutMs);
    });
  }

  async #askAnyBroker<T>(makeCall: MakeCall<T>): Promise<T> {
    this.#assertOpen();
    const link = await this.#controlLinks.connected();
    try {
      return await new Promise<T>((resolve, reject) =>
        link.submit(makeCall(resolve, reject), this.#options.requestTimeoutMs),
      );
    } catch (error) {
      this.#controlLinks.avoid(link);
      throw error;
    }
  }

  #learnBrokers(brokers: readonly BrokerMetadata[]): void {
    const ids = new Set(brokers.map(({ brokerId }) => brokerId));
    for (const brokerId of this.#brokers.keys()) {
      if (!ids.has(brokerId)) this.#brokers.delete(brokerId);
    }
    for (const { brokerId, host, port } of brokers) this.#learnBroker(brokerId, { host, port });
  }

  #learnBroker(brokerId: number, address: BrokerAddress): void {
    this.#brokers.set(brokerId, address);
    const link = this.#produceLinks.get(brokerId);
    if (!link || link.address === addressText(address)) return;
    // The broker lives elsewhere now. Requests under way to the old place may never be answered.
    this.#produceLinks.delete(brokerId);
    link.close(
      new TransportError(`Broker ${brokerId} moved from ${link.address} to ${addressText(address)}.`, {
        sent: 'no',
        code: 'CONNECTION_LOST',
      }),
    );
  }

  /** A refusing broker told where the new leader lives. Metadata knows better about brokers that it already listed. */
  readonly #onEndpoints = (endpoints: readonly BrokerMetadata[]): void => {
    for (const { brokerId, host, port } of endpoints) {
      if (!this.#brokers.has(brokerId)) this.#learnBroker(brokerId, { host, port });
    }
  };

  #createProduceLink(brokerId: number): BrokerLink {
    this.#assertOpen();
    const address = this.#brokers.get(brokerId);
    if (!address) {
      throw new TransportError(`The address of broker ${brokerId} is not known. Ask for metadata first.`, {
        sent: 'no',
        code: 'UNKNOWN_BROKER',
      });
    }
    const link = this.#createLink(address);
    this.#produceLinks.set(brokerId, link);
    return link;
  }

  #createLink(address: BrokerAddress): BrokerLink {
    this.#assertOpen();
    const { runtime, connectionTimeoutMs, authenticationTimeoutMs, reauthenticationThresholdMs, sasl } = this.#options;
    const mayAuthenticate = sasl !== undefined || this.#options.connectionOpener !== undefined;
    return new BrokerLink({
      address,
      opener: this.#opener,
      runtime,
      clientId: this.#clientId,
      versions: this.#versions,
      openTimeoutMs: connectionTimeoutMs + (mayAuthenticate ? authenticationTimeoutMs : 0),
      usesSasl: mayAuthenticate,
      reauthenticationThresholdMs,
    });
  }

  #assertOpen(): void {
    if (this.#isClosed) throw closedError();
  }
}

function openerOf(options: ResolvedOptions): ConnectionOpener {
  const { clientId, ssl, sasl, socketFactory, connectionTimeoutMs, authenticationTimeoutMs } = options;
  return kafkajsOpener({
    clientId,
    connectionTimeoutMs,
    authenticationTimeoutMs,
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl }),
    ...(socketFactory === undefined ? {} : { socketFactory }),
  });
}
