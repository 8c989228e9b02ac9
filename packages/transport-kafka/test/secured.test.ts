import { inspect } from 'node:util';
import { createProducer, type ProducerHooks } from '@sendonce/producer-core';
import { type KafkaCluster, startFaultProxy, startKafka } from '@sendonce/test-services';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tlsOpener } from '../examples/tls-opener.ts';
import { createKafkaTransport, type KafkaTransportOptions } from '../src/index.ts';

const password = 'correct-horse-battery';
const wrongPassword = 'wrong-horse-battery';
const maxReauthMs = 3_000;
let kafka: KafkaCluster;

beforeAll(async () => {
  kafka = await startKafka({ secured: { users: { alice: password, bob: password }, maxReauthMs } });
  await kafka.createTopic({ topic: 'payments' });
  const producer = await createProducer({
    transport: createKafkaTransport({ brokers: kafka.bootstrap, clientId: 'warm-up' }),
  });
  await producer.close();
});
afterAll(() => kafka?.stop());

type Access = Omit<KafkaTransportOptions, 'brokers'>;
type Listener = 'plain' | 'tls' | 'sasl' | 'saslTls';

const bootstrapOf = (listener: Listener) => (listener === 'plain' ? kafka.bootstrap : kafka.secured![listener]);
const trusted = () => ({ ssl: { ca: [kafka.secured!.ca] } });
type SaslMechanism = 'plain' | 'scram-sha-256' | 'scram-sha-512';

const user = (mechanism: SaslMechanism, secret = password, username = 'alice') => ({
  // kafkajs's types want each mechanism by itself.
  sasl: { mechanism, username, password: secret } as {
    mechanism: 'plain';
    username: string;
    password: string;
  },
});

/** A token as Kafka's own unsecured validator takes it: for tests only. */
function unsecuredToken(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const nowSeconds = Math.floor(Date.now() / 1000);
  return `${part({ alg: 'none' })}.${part({ sub: 'alice', iat: nowSeconds, exp: nowSeconds + 3600 })}.`;
}

/** PLAIN, as a kafkajs mechanism that brings its own messages. */
function plugIn(username: string, secret: string): NonNullable<KafkaTransportOptions['sasl']> {
  const text = Buffer.from(`\0${username}\0${secret}`);
  const message = Buffer.alloc(4 + text.length);
  message.writeInt32BE(text.length);
  text.copy(message, 4);
  return {
    mechanism: 'PLAIN',
    authenticationProvider: ({ saslAuthenticate }) => ({
      authenticate: async () => {
        await saslAuthenticate({ request: { encode: () => message } });
      },
    }),
  };
}

function transportTo(listener: Listener, access: Access) {
  return createKafkaTransport({ brokers: bootstrapOf(listener), clientId: 'secured', ...access });
}

async function sendOne(listener: Listener, access: Access): Promise<bigint> {
  const producer = await createProducer({ transport: transportTo(listener, access) });
  try {
    return (await producer.send({ topic: 'payments', value: 'v' })).offset;
  } finally {
    await producer.close();
  }
}

async function refusal(listener: Listener, access: Access): Promise<Error & { code: string; retriable: boolean }> {
  const transport = transportTo(listener, access);
  try {
    await transport.connect();
  } catch (error) {
    return error as Error & { code: string; retriable: boolean };
  } finally {
    await transport.close();
  }
  throw new Error('was let in');
}

function everythingIn(error: unknown): string {
  const seen = new Set<unknown>();
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    for (const name of Reflect.ownKeys(value)) visit((value as Record<PropertyKey, unknown>)[name]);
  };
  visit(error);
  return texts.join('\n');
}

describe('TLS and SASL on a real broker', () => {
  test.each<[string, Listener, () => Access]>([
    ['TLS', 'tls', trusted],
    ['TLS by an opener of one’s own', 'tls', () => ({ connectionOpener: tlsOpener(trusted().ssl) })],
    ['SASL PLAIN', 'sasl', () => user('plain')],
    ['SCRAM-SHA-256', 'sasl', () => user('scram-sha-256')],
    ['SCRAM-SHA-512 over TLS', 'saslTls', () => ({ ...user('scram-sha-512'), ...trusted() })],
    [
      'OAUTHBEARER',
      'sasl',
      () => ({ sasl: { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: unsecuredToken() }) } }),
    ],
    ['a mechanism of one’s own, as plug-ins for AWS IAM bring one', 'sasl', () => ({ sasl: plugIn('bob', password) })],
  ])('%s carries records', async (_, listener, access) => {
    expect(await sendOne(listener, access())).toBeGreaterThanOrEqual(0n);
  });

  test.each(['plain', 'scram-sha-256', 'scram-sha-512'] as const)(
    'a wrong password with %s: a typed error, not retriable, without the secret',
    async (mechanism) => {
      const error = await refusal('sasl', user(mechanism, wrongPassword));
      expect(error).toMatchObject({ name: 'TransportError', code: 'AUTHENTICATION_FAILED', retriable: false });
      expect(everythingIn(error)).not.toContain(wrongPassword);
      expect(everythingIn(error)).not.toContain(Buffer.from(wrongPassword).toString('base64'));
    },
  );

  test('a refusal of a mechanism of one’s own is typed, too, and not retriable', async () => {
    const error = await refusal('sasl', { sasl: plugIn('bob', wrongPassword) });
    expect(error).toMatchObject({ name: 'TransportError', code: 'AUTHENTICATION_FAILED', retriable: false });
  });

  test('createProducer with a wrong password rejects at once instead of trying again and again', async () => {
    const startMs = performance.now();
    await expect(sendOne('sasl', user('plain', wrongPassword))).rejects.toMatchObject({
      code: 'AUTHENTICATION_FAILED',
    });
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });

  test('a client without SASL on a SASL listener is told so', async () => {
    expect((await refusal('sasl', {})).message).toContain('may require SASL');
  });

  test('plain text to a TLS port is told so', async () => {
    expect((await refusal('tls', {})).message).toContain('set `ssl`');
  });

  test('TLS to a plain port is told so', async () => {
    expect((await refusal('plain', { ssl: true })).message).toContain('does not speak TLS');
  });

  test('an authority that nobody trusts, and a name that the certificate does not have', async () => {
    expect((await refusal('tls', { ssl: true })).message).toContain('`ssl.ca`');
    const otherName = { ssl: { ...trusted().ssl, servername: 'kafka.example.net' } };
    expect((await refusal('tls', otherName)).message).toContain('certificate is for other names');
  });

  test('KIP-368: a session is renewed under load, past its end, without an error and in order', async () => {
    const topic = 'renewed';
    await kafka.createTopic({ topic });
    const producer = await createProducer({ transport: transportTo('sasl', user('scram-sha-256')) });
    const endMs = performance.now() + 2.2 * maxReauthMs;
    const offsets: bigint[] = [];
    while (performance.now() < endMs) {
      const sent = await Promise.all([1, 2, 3].map((n) => producer.send({ topic, value: `${n}` })));
      offsets.push(...sent.map(({ offset }) => offset));
    }
    const { retries, attemptsLost } = producer.stats();
    await producer.close();
    expect(offsets).toEqual(offsets.map((_, i) => BigInt(i)));
    expect({ retries, attemptsLost }).toEqual({ retries: 0, attemptsLost: 0 });
  });

  test('wrong credentials are tried once by createProducer, however many ways there are', async () => {
    await using proxy = await startFaultProxy({ brokers: 2 });
    const port = Number(kafka.secured!.sasl[0]!.split(':')[1]);
    proxy.leadTo([port, port]);
    const transport = createKafkaTransport({ brokers: proxy.bootstrap, ...user('scram-sha-256', wrongPassword) });
    await expect(createProducer({ transport })).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' });
    expect(proxy.connectionsOpened).toBe(1);
  });

  test('credentials that are taken away end a session at its end: typed errors, no storm, no secret anywhere; and it goes on when they are back', async () => {
    const topic = 'payments';
    const alterCredentials = (...change: string[]) =>
      kafka.runTool('kafka.admin.ConfigCommand', [
        ...['--bootstrap-server', kafka.bootstrap[0]!, '--alter', '--entity-type', 'users', '--entity-name', 'bob'],
        ...change,
      ]);
    const told: unknown[] = [];
    const tell = (...what: unknown[]) => {
      told.push(...what);
      return undefined;
    };
    const hooks: Required<ProducerHooks> = {
      onProducerStarted: tell,
      onProducerClosed: tell,
      onProducerIdRequested: tell,
      onProducerIdAnswered: tell,
      onRecord: tell,
      onRecordRefused: tell,
      onBatchDrained: tell,
      onBatchSplit: tell,
      onAttemptStarted: tell,
      onAttemptEnded: tell,
      onBatchSettled: tell,
      onEvent: tell,
    };
    const transport = transportTo('sasl', user('scram-sha-256', password, 'bob'));
    const producer = await createProducer({ transport, hooks, logger: { info: tell, warn: tell } });
    await producer.send({ topic, value: 'before' });
    await alterCredentials('--delete-config', 'SCRAM-SHA-256');
    const failures: unknown[] = [];
    let sends = 0;
    while (failures.length < 3) {
      sends++;
      await producer.send({ topic, value: 'meanwhile' }).catch((error) => failures.push(error));
    }
    for (const failure of failures) expect(failure).toMatchObject({ code: 'AUTHENTICATION_FAILED', retriable: false });
    // The first one may have been under way when its session ended; the last one found no session at all.
    expect(failures.at(-1)).toMatchObject({ fate: 'not-stored' });
    await alterCredentials('--add-config', `SCRAM-SHA-256=[password=${password}]`);
    expect((await producer.send({ topic, value: 'after' })).topic).toBe(topic);
    expect(producer.stats().attempts).toBeLessThan(sends + 10);
    await producer.close();
    for (const secret of [password, Buffer.from(password).toString('base64')]) {
      const everything = inspect([told, failures, producer.stats(), producer, transport], {
        depth: Number.POSITIVE_INFINITY,
        maxArrayLength: null,
        showHidden: true,
      });
      expect(everything).not.toContain(secret);
    }
  });
});
