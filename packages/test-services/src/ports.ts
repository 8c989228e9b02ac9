import { createServer } from 'node:net';

// Below the range that systems hand out to outgoing connections, so that no client takes a port between our look and the
// service's start.
const lowestPort = 20_000;
const highestPort = 32_000;
const maxTries = 200;

const handedOut = new Set<number>();

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** `count` loopback ports that nobody listens on, and that this process has not handed out before. */
export async function pickPorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === maxTries * count) throw new Error(`No ${count} free ports between ${lowestPort} and ${highestPort}.`);
    const port = lowestPort + Math.floor(Math.random() * (highestPort - lowestPort));
    if (handedOut.has(port) || !(await isFree(port))) continue;
    handedOut.add(port);
    ports.push(port);
  }
  return ports;
}
