import { type ConnectionOptions, connect } from 'node:tls';
import { TransportError } from '@sendonce/producer-core/transport';
import type { ConnectionOpener } from '@sendonce/transport-kafka';

/** Opens connections with Node's own TLS and nothing else, certificates of the client included. No SASL. */
export function tlsOpener(options: ConnectionOptions): ConnectionOpener {
  return {
    open: ({ host, port }, signal) =>
      new Promise((resolve, reject) => {
        const fail = (cause: Error) => {
          socket.destroy();
          reject(new TransportError(`No TLS connection to ${host}:${port}: ${cause.message}.`, { sent: 'no', cause }));
        };
        const onAbort = () => fail(signal.reason as Error);
        const socket = connect({ host, port, ...options }, () => {
          signal.removeEventListener('abort', onAbort);
          socket.off('error', fail);
          socket.setNoDelay(true);
          resolve({
            socket,
            onData: (listener) => socket.on('data', listener),
            sessionLifetimeMs: 0, // nothing limits it
          });
        });
        socket.once('error', fail);
        signal.addEventListener('abort', onAbort, { once: true });
      }),
  };
}
