import {
  type ClusterMetadata,
  type PartitionResult,
  type ProduceRequest,
  type ProducerIdentity,
  ProtocolError,
  protocolErrorCodes,
  protocolErrorName,
  type Runtime,
  type Transport,
  TransportError,
} from '@sendonce/producer-core/transport';
import type { Broker } from './broker.ts';
import { ClientConnection, type ClientConnectionOptions } from './client-connection.ts';
import { readOptions, wholeNumber } from './option-reader.ts';
import type { ApiName, ClusterReply, ClusterRequest } from './requests.ts';

export interface MemoryTransportOptions {
  /** Time until a broker that does not answer a connection is given up. Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Time until an unanswered `metadata` or `initProducerId` request costs its connection. Default 30 s. */
  readonly requestTimeoutMs?: number;
}

type Connect = Pick<ClientConnectionOptions, 'latency' | 'events' | 'planFaults'> & {
  readonly runtime: Runtime;
  readonly brokers: ReadonlyMap<number, Broker>;
};

/** Errors of a whole request after which the same request may succeed. */
const retriableErrors: readonly number[] = [
  protocolErrorCodes.COORDINATOR_LOAD_IN_PROGRESS,
  protocolErrorCodes.COORDINATOR_NOT_AVAILABLE,
  protocolErrorCodes.NOT_COORDINATOR,
  protocolErrorCodes.REQUEST_TIMED_OUT,
  protocolErrorCodes.NETWORK_EXCEPTION,
];

/** {@link Transport} over the memory cluster: one connection to each broker, as a transport over sockets has. */
export class MemoryTransport implements Transport {
  readonly #connect: Connect;
  readonly #connectTimeoutMs: number;
  readonly #requestTimeoutMs: number;
  readonly #connections = new Map<number, ClientConnection>();
  /** The broker that is asked first by requests that any broker can answer. */
  #contact: number;
  #isClosed = false;

  constructor(connect: Connect, options: MemoryTransportOptions) {
    this.#connect = connect;
    const { connectTimeoutMs, requestTimeoutMs } = readOptions<Required<MemoryTransportOptions>>('transport', options, {
      connectTimeoutMs: wholeNumber(10_000, { min: 1 }),
      requestTimeoutMs: wholeNumber(30_000, { min: 1 }),
    });
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#contact = [...connect.brokers.keys()][0]!;
  }

  async connect(signal?: AbortSignal): Promise<void> {
    if (signal === undefined) {
      await this.#anyConnection();
      return;
    }
    if (signal.aborted) throw aborted(signal);
    let stop = (): void => {};
    const abort = new Promise<never>((_, reject) => {
      stop = () => reject(aborted(signal));
      signal.addEventListener('abort', stop, { once: true });
    });
    try {
      await Promise.race([this.#anyConnection(), abort]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of [...this.#connections.values()]) connection.close('the transport was closed', 'CLOSED');
  }

  async metadata(topics: readonly string[]): Promise<ClusterMetadata> {
    const reply = await this.#askAny({ api: 'metadata', topics });
    return reply.api === 'metadata' ? reply.metadata : failed('metadata', reply);
  }

  async initProducerId(): Promise<ProducerIdentity> {
    const reply = await this.#askAny({ api: 'initProducerId' });
    return reply.api === 'initProducerId' ? reply.identity : failed('initProducerId', reply);
  }

  produce(brokerId: number, request: ProduceRequest): Promise<PartitionResult[]> {
    return new Promise((resolve, reject) => {
      const connection = this.#connection(brokerId);
      connection.send(
        { api: 'produce', produce: request },
        request.timeoutMs,
        (reply) => (reply.api === 'produce' ? resolve(reply.results) : reject(protocolError('produce', reply))),
        reject,
      );
    });
  }

  /**
   * Finds a broker that lets us in, beginning with the one that did last. That is not a retry: nothing was asked yet.
   */
  async #anyConnection(): Promise<ClientConnection> {
    const brokerIds = [...this.#connect.brokers.keys()];
    const first = brokerIds.indexOf(this.#contact);
    let refused: unknown;
    for (const brokerId of [...brokerIds.slice(first), ...brokerIds.slice(0, first)]) {
      try {
        const connection = this.#connection(brokerId);
        await connection.opened();
        this.#contact = brokerId;
        return connection;
      } catch (error) {
        if (this.#isClosed) throw error;
        refused = error;
      }
    }
    throw new TransportError('No broker of the cluster can be reached.', {
      sent: 'no',
      code: 'NO_BROKER',
      cause: refused,
    });
  }

  async #askAny(request: ClusterRequest): Promise<ClusterReply> {
    const connection = await this.#anyConnection();
    try {
      return await new Promise((resolve, reject) => connection.send(request, this.#requestTimeoutMs, resolve, reject));
    } catch (error) {
      this.#turnFrom(connection.brokerId);
      throw error;
    }
  }

  /** The next request that any broker can answer goes to another one. */
  #turnFrom(brokerId: number): void {
    const brokerIds = [...this.#connect.brokers.keys()];
    this.#contact = brokerIds[(brokerIds.indexOf(brokerId) + 1) % brokerIds.length]!;
  }

  #connection(brokerId: number): ClientConnection {
    if (this.#isClosed) throw new TransportError('The transport is closed.', { sent: 'no', code: 'CLOSED' });
    const known = this.#connections.get(brokerId);
    if (known !== undefined) return known;
    const { brokers, ...options } = this.#connect;
    const broker = brokers.get(brokerId);
    if (broker === undefined) {
      throw new TransportError(`There is no broker ${brokerId}.`, { sent: 'no', code: 'UNKNOWN_BROKER' });
    }
    const connection = new ClientConnection(broker, {
      ...options,
      connectTimeoutMs: this.#connectTimeoutMs,
      onClosed: (closed) => {
        if (this.#connections.get(brokerId) === closed) this.#connections.delete(brokerId);
      },
    });
    this.#connections.set(brokerId, connection);
    return connection;
  }
}

function aborted(signal: AbortSignal): TransportError {
  return new TransportError('connect was aborted by its signal', { sent: 'no', code: 'ABORTED', cause: signal.reason });
}

function protocolError(api: ApiName, reply: ClusterReply): ProtocolError {
  const errorCode = reply.api === 'error' ? reply.errorCode : protocolErrorCodes.UNKNOWN_SERVER_ERROR;
  const retriable = retriableErrors.includes(errorCode);
  const advice = retriable ? 'Try again.' : 'Trying again will not help.';
  return new ProtocolError(`${api}: the broker answered ${protocolErrorName(errorCode)}. ${advice}`, errorCode, {
    retriable,
  });
}

function failed(api: ApiName, reply: ClusterReply): never {
  throw protocolError(api, reply);
}
