import { once } from 'node:events';
import { createServer, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { EventStream, type EventStreamOptions } from './event-stream.ts';

let server: Server | null = null;
let stream: EventStream | null = null;

afterEach(async () => {
  stream?.close();
  server?.closeAllConnections();
  if (server !== null) await new Promise((resolve) => server!.close(resolve));
});

/** A stream on a free port, whose state is whatever `show` was given last. */
async function startStream(options: Partial<EventStreamOptions> = {}) {
  let state = '0';
  let changed = (): void => {};
  stream = new EventStream({
    state: () => state,
    onChange: (listener) => {
      changed = listener;
      return () => {};
    },
    everyMs: 1,
    ...options,
  });
  const responses: ServerResponse[] = [];
  server = createServer((_, response) => {
    responses.push(response);
    if (!stream!.add(response)) response.writeHead(503).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const show = (next: string): void => {
    state = next;
    changed();
  };
  return { port, show, responses };
}

/** A client that reads, and that can wait for the message it wants. */
async function join(port: number) {
  const asked = request({ port, host: '127.0.0.1' });
  asked.end();
  const [response] = await once(asked, 'response');
  const received: string[] = [];
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n\n');
    rest = parts.pop()!;
    received.push(...parts.filter((part) => part.startsWith('data: ')).map((part) => part.slice(6)));
  });
  const messages = () => received;
  return {
    status: response.statusCode as number,
    messages,
    until: async (data: string) => {
      while (messages().at(-1) !== data) await once(response, 'data');
    },
    leave: async () => {
      response.destroy();
      await once(response, 'close');
    },
    pause: () => response.pause(),
    resume: () => response.resume(),
    closed: once(response, 'close'),
  };
}

it('sends the whole state first, and then each newest one', async () => {
  const { port, show } = await startStream();
  show('"before anybody came"');
  const client = await join(port);
  await client.until('"before anybody came"');
  show('"then"');
  await client.until('"then"');
  expect(client.messages()).toEqual(['"before anybody came"', '"then"']);
});

it('what changes a thousand times between two messages is sent once', async () => {
  const { port, show } = await startStream({ everyMs: 20 });
  const client = await join(port);
  await client.until('0');
  for (let number = 1; number <= 1_000; number += 1) show(`${number}`);
  await client.until('1000');
  expect(client.messages().length).toBeLessThanOrEqual(3);
});

it('one who joins does not keep the news from the others', async () => {
  const { port, show } = await startStream({ everyMs: 20 });
  const first = await join(port);
  await first.until('0');
  show('1');
  const second = await join(port);
  await second.until('1');
  await first.until('1');
});

it('a client that reads slowly holds one message, not all of them, and gets the newest', async () => {
  const { port, show, responses } = await startStream();
  const large = (number: number) => `"${number}${'x'.repeat(200_000)}"`;
  const slow = await join(port);
  await slow.until('0');
  slow.pause();
  const quick = await join(port);
  for (let number = 1; number <= 100; number += 1) {
    show(large(number));
    await quick.until(large(number));
  }
  expect(responses[0]!.writableLength).toBeLessThan(2 * 200_100);
  slow.resume();
  await slow.until(large(100));
  expect(slow.messages().length).toBeLessThan(100);
}, 60_000);

it('a client that takes nothing for too long is cut off', async () => {
  const { port, show, responses } = await startStream({ patienceMs: 20 });
  const stuck = await join(port);
  await stuck.until('0');
  stuck.pause();
  const gone = once(responses[0]!, 'close');
  const other = await join(port);
  for (let number = 1; stream!.clients > 1 && number <= 1_000; number += 1) {
    show(`"${number}${'x'.repeat(200_000)}"`);
    await other.until(`"${number}${'x'.repeat(200_000)}"`);
  }
  await gone;
  expect(stream!.clients).toBe(1);
}, 60_000);

it('takes a limited number of clients, and forgets those that leave', async () => {
  const { port, responses } = await startStream({ clientsMax: 2 });
  const clients = [await join(port), await join(port)];
  expect((await join(port)).status).toBe(503);
  const left = once(responses[0]!, 'close');
  await clients[0]!.leave();
  await left;
  const another = await join(port);
  await another.until('0');
  expect([another.status, stream!.clients]).toEqual([200, 2]);
});

it('tells those who wait that it is still there', async () => {
  const { port } = await startStream({ heartbeatMs: 5 });
  const asked = request({ port, host: '127.0.0.1' });
  asked.end();
  const [response] = await once(asked, 'response');
  let text = '';
  response.setEncoding('utf8');
  while (!text.includes(': still here')) text += (await once(response, 'data'))[0];
  response.destroy();
});
