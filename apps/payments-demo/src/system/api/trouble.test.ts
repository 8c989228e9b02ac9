import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { order, pgliteStartMs, post, startMemorySystem } from '../memory-system.testkit.ts';
import type { PaymentSystem } from '../payment-system.ts';

const requestTimeoutMs = 1_000;
let system: PaymentSystem;

beforeAll(async () => {
  ({ system } = await startMemorySystem({ requestTimeoutMs }));
}, pgliteStartMs);

afterAll(async () => {
  // Whatever was refused has left no trace.
  const books = await system.reconcile();
  await system.close();
  expect([books.accepted, books.pending, books.recordsInLog]).toEqual([0, 0, 0]);
});

const key = { 'idempotency-key': 'a-key' };

describe('bad input is refused with a clear error, and nothing of it is kept', () => {
  it.each([
    ['malformed JSON', '{"from": "account-1",'],
    ['no body', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['a field that is missing', JSON.stringify({ ...order, to: undefined })],
    ['a field that is not known', JSON.stringify({ ...order, note: 'hello' })],
    [
      'a prototype in the body',
      '{"__proto__": {"amountMinor": 1}, "from": "account-1", "to": "account-2", "currency": "EUR"}',
    ],
    ['an amount below zero', JSON.stringify({ ...order, amountMinor: -1 })],
    ['an amount of zero', JSON.stringify({ ...order, amountMinor: 0 })],
    ['a fraction', JSON.stringify({ ...order, amountMinor: 0.5 })],
    ['a huge amount', JSON.stringify({ ...order, amountMinor: 1_000_000_001 })],
    ['an amount beyond exact numbers', '{"from":"account-1","to":"account-2","amountMinor":1e400,"currency":"EUR"}'],
    ['an amount as text', JSON.stringify({ ...order, amountMinor: '2000' })],
    ['an amount as a list', JSON.stringify({ ...order, amountMinor: [2_000] })],
    ['no amount', JSON.stringify({ ...order, amountMinor: null })],
    ['another currency', JSON.stringify({ ...order, currency: 'USD' })],
    ['an account that is no name', JSON.stringify({ ...order, from: "account-1'; DROP TABLE accounts --" })],
    ['a payment to itself', JSON.stringify({ ...order, to: order.from })],
  ])('%s', async (_what, body) => {
    const answer = await post(system, body, key);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toEqual({ code: expect.any(String), message: expect.any(String) });
    expect(answer.text).not.toContain('DROP TABLE');
  });

  it.each([
    ['no key', {}],
    ['an empty key', { 'idempotency-key': '' }],
    ['a key that is too long', { 'idempotency-key': 'k'.repeat(201) }],
    ['a key with a space in it', { 'idempotency-key': 'two words' }],
    ['a key beyond ASCII', { 'idempotency-key': 'sch\u00fc' }],
  ])('%s', async (_what, headers) => {
    const answer = await post(system, order, headers);
    expect([answer.status, answer.body.error]).toEqual([
      400,
      { code: 'INVALID_REQUEST', message: expect.stringContaining('idempotency-key') },
    ]);
  });

  it('unknown accounts', async () => {
    const answer = await post(system, { ...order, to: 'account-of-nobody' }, key);
    expect([answer.status, answer.body.error]).toEqual([
      422,
      { code: 'ACCOUNT_UNKNOWN', message: expect.stringContaining('account-of-nobody') },
    ]);
  });

  it('a body over the limit', async () => {
    const answer = await post(system, { ...order, note: 'x'.repeat(5_000) }, key);
    expect(answer.status).toBe(413);
  });

  it('another content type', async () => {
    const answer = await post(system, 'from=account-1', {
      ...key,
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(answer.status).toBe(415);
  });

  it('a payment that was never made, an id that is none, a path that is none, a URL that can’t be read', async () => {
    for (const [path, status, code] of [
      ['/payments/00000000-0000-4000-8000-000000000000', 404, 'NOT_FOUND'],
      ['/payments/1', 400, 'INVALID_REQUEST'],
      ['/payments/..%2faccounts', 400, 'INVALID_REQUEST'],
      ['/nothing', 404, 'NOT_FOUND'],
      ['/payments/%zz', 400, 'BAD_URL'],
      [`/payments/${'1'.repeat(200)}`, 414, 'URL_TOO_LONG'],
    ] as const) {
      const response = await fetch(`${system.url}${path}`);
      expect([path, response.status, await response.json()]).toEqual([
        path,
        status,
        { error: { code, message: expect.any(String) } },
      ]);
    }
  });
});

it('a client that sends its request too slowly is cut off', async () => {
  const { port } = new URL(system.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.setEncoding('utf8');
  let answer = '';
  socket.on('data', (text) => {
    answer += text;
  });
  socket.write(
    'POST /payments HTTP/1.1\r\nHost: 127.0.0.1\r\nIdempotency-Key: slow\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"from"',
  );
  await once(socket, 'close');
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(bodyOf(answer)).toEqual({ error: { code: 'REQUEST_TIMEOUT', message: expect.any(String) } });
});

const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));

/** What the server answers to these bytes, until it closes. */
async function answerTo(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(system.url).port), '127.0.0.1');
  socket.setEncoding('utf8');
  let answer = '';
  socket.on('data', (text) => {
    answer += text;
  });
  socket.write(bytes);
  await once(socket, 'close');
  return answer;
}

it.each([
  ['what is not HTTP', 'hello\r\n\r\n', 400, 'BAD_REQUEST'],
  [
    'headers that are too large',
    `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'x'.repeat(9_000)}\r\n\r\n`,
    431,
    'HEADERS_TOO_LARGE',
  ],
  [
    'another name that leads here',
    'GET /accounts HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    403,
    'FORBIDDEN_HOST',
  ],
])('%s is answered like every other error', async (_what, bytes, status, code) => {
  const answer = await answerTo(bytes);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(bodyOf(answer)).toEqual({ error: { code, message: expect.any(String) } });
});

it('no code of the framework is told', async () => {
  const answers = await Promise.all([
    post(system, '{', key),
    post(system, { ...order, note: 'x'.repeat(5_000) }, key),
    post(system, 'a=b', { ...key, 'content-type': 'application/x-www-form-urlencoded' }),
  ]);
  expect(answers.map(({ body }) => (body.error as { code: string }).code)).toEqual([
    'BAD_REQUEST',
    'BODY_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
  ]);
});

it('answers carry security headers', async () => {
  const { headers } = await fetch(`${system.url}/accounts`);
  expect(headers.get('content-security-policy')).toContain("default-src 'self'");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('x-frame-options')).toBe('SAMEORIGIN');
});

it('listens on loopback only', async () => {
  const { hostname, port } = new URL(system.url);
  expect(hostname).toBe('127.0.0.1');
  const others = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal);
  for (const { address } of others) {
    const refused = await new Promise((resolve) => {
      const socket = connect({ host: address, port: Number(port), timeout: 2_000 });
      socket
        .once('connect', () => resolve(false))
        .once('error', () => resolve(true))
        .once('timeout', () => resolve(true));
      socket.once('close', () => socket.destroy());
    });
    expect([address, refused]).toEqual([address, true]);
  }
});

it(
  'a port that is taken is an error that names it, and everything is closed again',
  async () => {
    const { port } = new URL(system.url);
    await expect(startMemorySystem({ port: Number(port) })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  },
  pgliteStartMs,
);
