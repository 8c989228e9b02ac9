import { type AddressInfo, createServer, type Server } from 'node:net';
import { FaultPlan } from './faults.ts';
import { ProxiedConnection } from './proxied-connection.ts';

/** Where a proxy's port leads to: a port on loopback, or an address. */
export type ProxyDestination = number | { readonly host: string; readonly port: number };

export interface FaultProxy extends AsyncDisposable {
  /** One for each broker, in the order of the broker ids. */
  readonly ports: readonly number[];
  readonly bootstrap: readonly string[];
  readonly faults: FaultPlan;
  /** Says where each port leads; connections made before are refused. */
  leadTo(destinations: readonly ProxyDestination[]): void;
  /** Resets every connection, or those to one broker. Returns how many. */
  resetConnections(brokerId?: number): number;
  /** Connections that are open now. */
  readonly connections: number;
  /** Connections that were ever made. */
  readonly connectionsOpened: number;
  stop(): Promise<void>;
}

const addressOf = (destination: ProxyDestination) =>
  typeof destination === 'number' ? { host: '127.0.0.1', port: destination } : destination;

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

/**
 * A TCP proxy in front of `brokers` Kafka brokers that knows where requests and replies begin and end, and applies the
 * faults it is told to. Ports first, destinations later: brokers must know the proxy's ports when they start, to advertise them.
 */
export async function startFaultProxy({ brokers }: { brokers: number }): Promise<FaultProxy> {
  const faults = new FaultPlan();
  const connections = new Set<ProxiedConnection>();
  let connectionsOpened = 0;
  let destinations: readonly ProxyDestination[] = [];
  const servers = Array.from({ length: brokers }, (_, i) =>
    createServer((client) => {
      const destination = destinations[i];
      if (destination === undefined) {
        client.resetAndDestroy();
        return;
      }
      const connection = new ProxiedConnection(client, i + 1, addressOf(destination), faults, () =>
        connections.delete(connection),
      );
      connections.add(connection);
      connectionsOpened++;
    }),
  );
  const ports = await Promise.all(servers.map(listen));
  const resetConnections = (brokerId?: number) => {
    const chosen = [...connections].filter((connection) => brokerId === undefined || connection.brokerId === brokerId);
    for (const connection of chosen) connection.reset();
    return chosen.length;
  };
  const stop = async () => {
    const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    resetConnections();
    await Promise.all(closed);
  };
  return {
    ports,
    bootstrap: ports.map((port) => `127.0.0.1:${port}`),
    faults,
    leadTo: (chosen) => {
      destinations = chosen;
    },
    resetConnections,
    get connections() {
      return connections.size;
    },
    get connectionsOpened() {
      return connectionsOpened;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
