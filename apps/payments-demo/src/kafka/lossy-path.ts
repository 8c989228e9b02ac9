import { connect } from 'node:net';
import { type FaultPlan, startFaultProxy } from '@sendonce/test-services';
import { createKafkaTransport, type KafkaTransportOptions } from '@sendonce/transport-kafka';

type SocketFactory = NonNullable<KafkaTransportOptions['socketFactory']>;

/** A way to a cluster on which things get lost. */
export interface LossyPath extends AsyncDisposable {
  readonly faults: FaultPlan;
  /** For `createKafkaTransport`: connections to the cluster's brokers go through a proxy. */
  readonly socketFactory: SocketFactory;
}

/**
 * Puts a proxy in front of every broker of the cluster behind `bootstrap`. The brokers go on advertising their own addresses; the
 * sockets are led to the proxies instead.
 */
export async function openLossyPath(bootstrap: string): Promise<LossyPath> {
  const brokers = await brokersOf(bootstrap);
  const proxy = await startFaultProxy({ brokers: brokers.length });
  proxy.leadTo(brokers);
  const proxyPorts = new Map(brokers.map(({ host, port }, index) => [`${host}:${port}`, proxy.ports[index]!]));
  return {
    faults: proxy.faults,
    socketFactory: ({ host, port, onConnect }) => {
      const proxyPort = proxyPorts.get(`${host}:${port}`);
      // The address to start from may be another name of a broker.
      const destination = proxyPort === undefined ? { host, port } : { host: '127.0.0.1', port: proxyPort };
      return connect({ ...destination, noDelay: true }, onConnect);
    },
    [Symbol.asyncDispose]: () => proxy.stop(),
  };
}

/** The cluster's brokers. Rejects with `TransportError`, which says what was tried, when none answers. */
async function brokersOf(bootstrap: string): Promise<readonly { readonly host: string; readonly port: number }[]> {
  const transport = createKafkaTransport({ brokers: [bootstrap], clientId: 'payments-demo' });
  try {
    await transport.connect();
    const { brokers } = await transport.metadata([]);
    return brokers.map(({ host, port }) => ({ host, port }));
  } finally {
    await transport.close();
  }
}
