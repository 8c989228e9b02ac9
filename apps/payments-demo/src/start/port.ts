import { once } from 'node:events';
import { createServer } from 'node:net';

/** Rejects with `EADDRINUSE` when somebody listens on the port: better heard before brokers and databases are started than after. */
export async function checkPortIsFree(port: number): Promise<void> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}
