import { type AddressInfo, createServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createKafkaTransport, type KafkaTransportOptions } from './index.ts';
import { int8, int16, int32 } from './scripted-broker.testkit.ts';

// Trouble while kafkajs opens a connection, when the request path's own guards are not in place yet.

const password = 'correct-horse-battery';
const sasl = { mechanism: 'plain', username: 'alice', password } as const;
const openTimeoutMs = 300;

interface Listener extends AsyncDisposable {
  readonly address: string;
  readonly connections: number;
  readonly open: number;
}

async function listen(onConnection: (socket: Socket) => void): Promise<Listener> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.resume(); // who does not read never hears of the end
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function refusal(options: KafkaTransportOptions): Promise<Error & { cause?: AggregateError }> {
  const transport = createKafkaTransport({
    connectionTimeoutMs: openTimeoutMs,
    authenticationTimeoutMs: 200,
    ...options,
  });
  try {
    await transport.connect();
  } catch (error) {
    return error as Error & { cause?: AggregateError };
  } finally {
    await transport.close();
  }
  throw new Error('connected');
}

const everythingIn = (value: unknown) => inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: true });

/** Answers the n-th request of a connection with these bytes after the correlation id; later ones not at all. */
function answering(...bodies: readonly Buffer[]): (socket: Socket) => void {
  return (socket) => {
    let answered = 0;
    socket.on('data', (request) => {
      const body = bodies[answered++];
      if (body) socket.write(Buffer.concat([int32(4 + body.length), request.subarray(8, 12), body]));
    });
  };
}

/** ApiVersions v0: SaslHandshake 0 to 1, SaslAuthenticate 0 to 1, ApiVersions 0 to 2. */
const apiVersionsBody = Buffer.concat([
  int16(0),
  int32(3),
  ...[17, 36, 18].map((apiKey) => Buffer.concat([int16(apiKey), int16(0), int16(apiKey === 18 ? 2 : 1)])),
]);

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a listener that is no broker', () => {
  test('accepts and never answers: given up after connectionTimeoutMs, and no connection is left open', async () => {
    await using silent = await listen(() => {});
    const startMs = performance.now();
    const error = await refusal({ brokers: [silent.address] });
    expect(performance.now() - startMs).toBeLessThan(openTimeoutMs + 1_000);
    expect(error).toMatchObject({ code: 'NO_BROKER_REACHABLE', sent: 'no', retriable: true });
    expect(error.message).toContain(`${silent.address} did not answer within ${openTimeoutMs} ms`);
    await vi.waitFor(() => expect(silent.open).toBe(0));
  });

  test('stops answering in the middle of SASL: given up, without the secret in the error', async () => {
    await using half = await listen(answering(apiVersionsBody));
    const error = await refusal({ brokers: [half.address], sasl });
    expect(error).toMatchObject({ code: 'NO_BROKER_REACHABLE', sent: 'no' });
    expect(everythingIn(error)).not.toContain(password);
    await vi.waitFor(() => expect(half.open).toBe(0));
  });

  test.each([
    ['text', Buffer.from('220 mail.example.net ESMTP\r\n'), 'length'],
    ['a web page', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), 'web server'],
    ['a length of two gigabytes', int32(2 ** 31 - 1), 'length'],
    ['a negative length', int32(-7), 'length'],
  ])('answers with %s: dropped at once with a typed error', async (_, bytes) => {
    await using garbage = await listen((socket) => socket.on('data', () => socket.write(bytes)));
    const error = await refusal({ brokers: [garbage.address], sasl, connectionTimeoutMs: 20_000 });
    expect(error).toMatchObject({ code: 'NO_BROKER_REACHABLE', sent: 'no' });
    expect(error.cause!.errors[0]).toMatchObject({ name: 'TransportError', code: 'MALFORMED_REPLY' });
    expect(everythingIn(error)).not.toContain(password);
    await vi.waitFor(() => expect(garbage.open).toBe(0));
  });

  test('claims a megabyte and sends it slowly: the time limit holds all the same', async () => {
    await using slow = await listen((socket) => {
      socket.on('data', () => {
        socket.write(int32(1024 * 1024));
        const timer = setInterval(() => socket.write(int8(0)), 20);
        socket.on('close', () => clearInterval(timer));
      });
    });
    const error = await refusal({ brokers: [slow.address] });
    expect(error.message).toContain(`did not answer within ${openTimeoutMs} ms`);
  });

  test('answers a frame of random bytes: a typed error', async () => {
    await using noise = await listen(answering(Buffer.from('a5'.repeat(40), 'hex')));
    expect(await refusal({ brokers: [noise.address] })).toMatchObject({ code: 'NO_BROKER_REACHABLE', sent: 'no' });
  });
});

describe('addresses', () => {
  test('every address that fails is named with its own reason, and with the time that it all took', async () => {
    await using silent = await listen(() => {});
    await using hangsUp = await listen((socket) => socket.destroy());
    const unknown = 'no-such-broker.invalid:9092';
    const error = await refusal({ brokers: [unknown, silent.address, hangsUp.address, '127.0.0.1:1'] });
    expect(error.message).toMatch(/within \d{3,4} ms/);
    expect(error.message).toMatch(/no-such-broker\.invalid:9092 .*(ENOTFOUND|EAI_AGAIN)/);
    expect(error.message).toContain(`${silent.address} did not answer`);
    expect(error.message).toMatch(/127\.0\.0\.1:1 .*ECONNREFUSED/);
    expect(error.cause!.errors).toHaveLength(4);
  });
});

describe('wrong credentials', () => {
  test('are tried once, not at every broker of the list, and not again', async () => {
    const handshakeAccepted = Buffer.concat([int16(0), int32(1), int16(5), Buffer.from('PLAIN')]);
    const refusalText = `Authentication failed for ${password}`;
    const refused = Buffer.concat([
      int16(58),
      int16(refusalText.length),
      Buffer.from(refusalText),
      int32(0),
      int32(0),
      int32(0),
    ]);
    const brokers = await Promise.all(
      [1, 2, 3].map(() => listen(answering(apiVersionsBody, handshakeAccepted, refused))),
    );
    const error = await refusal({ brokers: brokers.map(({ address }) => address), sasl });
    expect(error).toMatchObject({ code: 'AUTHENTICATION_FAILED', retriable: false, sent: 'no' });
    expect(brokers.reduce((sum, { connections }) => sum + connections, 0)).toBe(1);
    // This broker even repeats the secret.
    expect(error.message).toContain('Authentication failed for ***');
    expect(everythingIn(error)).not.toContain(password);
    for (const broker of brokers) await broker[Symbol.asyncDispose]();
  });

  test('a transport shows no secret to whoever prints it', () => {
    const transport = createKafkaTransport({ brokers: ['127.0.0.1:1'], sasl, ssl: { passphrase: password } });
    expect(everythingIn(transport)).not.toContain(password);
    expect(JSON.stringify(transport)).not.toContain(password);
  });
});

describe('a wall clock that jumps while a connection is opened', () => {
  test.each([
    ['an hour ahead', 3_600_000],
    ['an hour back', -3_600_000],
  ])('%s changes nothing about the time limit', async (_, jumpMs) => {
    await using silent = await listen(() => {
      const real = Date.now();
      vi.spyOn(Date, 'now').mockImplementation(() => real + jumpMs);
    });
    const startMs = performance.now();
    const error = await refusal({ brokers: [silent.address] });
    expect(error.message).toContain(`did not answer within ${openTimeoutMs} ms`);
    const tookMs = performance.now() - startMs;
    expect(tookMs).toBeGreaterThanOrEqual(openTimeoutMs - 50);
    expect(tookMs).toBeLessThan(openTimeoutMs + 1_000);
  });
});
