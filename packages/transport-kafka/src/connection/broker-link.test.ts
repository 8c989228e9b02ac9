import {
  type PartitionResult,
  type ProduceRequest,
  platformRuntime,
  TransportError,
} from '@sendonce/producer-core/transport';
import { describe, expect, test } from 'vitest';
import { supportedVersions } from '../protocol/api-keys.ts';
import { TopicNames } from '../protocol/topic-names.ts';
import {
  int8,
  int32,
  plainOpener,
  produceReply,
  type ScriptedBroker,
  startScriptedBroker,
} from '../scripted-broker.testkit.ts';
import { BrokerLink } from './broker-link.ts';
import { ProduceCall } from './calls.ts';

const patientMs = 20_000;

function linkTo(
  broker: { host: string; port: number },
  { sessionLifetimeMs = 0, openTimeoutMs = 5_000 } = {},
): BrokerLink {
  return new BrokerLink({
    address: { host: broker.host, port: broker.port },
    opener: plainOpener({ sessionLifetimeMs }),
    runtime: platformRuntime,
    clientId: Buffer.from('test'),
    versions: supportedVersions,
    openTimeoutMs,
    usesSasl: false,
    reauthenticationThresholdMs: 10_000,
  });
}

const names = new TopicNames();

function produce(
  link: BrokerLink,
  text: string,
  timeoutMs = patientMs,
  acks: ProduceRequest['acks'] = 'all',
): Promise<PartitionResult[]> {
  const request: ProduceRequest = {
    acks,
    timeoutMs,
    partitions: [{ topic: 'payments', partition: 0, batch: Buffer.from(text) }],
  };
  return new Promise((resolve, reject) =>
    link.submit(new ProduceCall(request, names, () => {}, resolve, reject), timeoutMs),
  );
}

async function rejection(promise: Promise<unknown>): Promise<TransportError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TransportError);
  return error as TransportError;
}

const answerAll = (broker: ScriptedBroker) => {
  let offset = 0n;
  broker.onRequest = ({ reply }) => reply(produceReply('payments', { baseOffset: offset++ }));
};

describe('BrokerLink', () => {
  test('T3: requests made before, while and after the connection opens arrive in the order of the calls', async () => {
    await using broker = await startScriptedBroker();
    answerAll(broker);
    const link = linkTo(broker);
    const first = [0, 1, 2].map((n) => produce(link, `batch ${n}`));
    await link.connect();
    const rest = [3, 4, 5].map((n) => produce(link, `batch ${n}`));
    const results = (await Promise.all([...first, ...rest])).flat();
    expect(results.map(({ baseOffset }) => baseOffset)).toEqual([0n, 1n, 2n, 3n, 4n, 5n]);
    expect(broker.seen.map(({ body }) => /batch \d/.exec(body.toString('latin1'))?.[0])).toEqual(
      [0, 1, 2, 3, 4, 5].map((n) => `batch ${n}`),
    );
    link.close();
  });

  test('T4: a timeout costs the connection: bystanders end as maybe sent, and the late reply reaches nobody', async () => {
    await using broker = await startScriptedBroker();
    const link = linkTo(broker);
    const timedOut = rejection(produce(link, 'a', 100));
    const bystander = rejection(produce(link, 'b'));
    expect(await timedOut).toMatchObject({ code: 'REQUEST_TIMEOUT', sent: 'maybe' });
    expect(await bystander).toMatchObject({ code: 'CONNECTION_LOST', sent: 'maybe' });
    const late = await broker.request(0);
    const next = produce(link, 'c');
    const third = await broker.request(2);
    expect(third.connection).not.toBe(late.connection);
    late.reply(produceReply('payments', { baseOffset: 13n }));
    third.reply(produceReply('payments', { baseOffset: 42n }));
    expect((await next)[0]?.baseOffset).toBe(42n);
    link.close();
  });

  test('T2: when nobody listens, nothing was sent', async () => {
    const broker = await startScriptedBroker();
    await broker[Symbol.asyncDispose]();
    const link = linkTo(broker);
    expect(await rejection(produce(link, 'a'))).toMatchObject({ sent: 'no' });
    link.close();
  });

  test.each([
    ['an absurd length', Buffer.from('HTTP/1.1 400 Bad Request\r\n'), 'web server'],
    ['a negative length', int32(-5), 'frame of -5 bytes'],
    ['a reply that nobody asked for', Buffer.concat([int32(8), int32(777), int32(0)]), 'request 777'],
    ['a reply that ends too early', Buffer.concat([int32(6), int32(1), int8(0, 2)]), 'array claims'],
  ])('a broker that sends %s loses its connection, with a typed error', async (_, bytes, words) => {
    await using broker = await startScriptedBroker();
    const link = linkTo(broker);
    broker.onRequest = ({ socket }) => socket.write(bytes);
    const error = await rejection(produce(link, 'a'));
    expect(error).toMatchObject({ code: 'MALFORMED_REPLY', sent: 'maybe' });
    expect(error.message).toContain(words);
    answerAll(broker);
    expect((await produce(link, 'b'))[0]?.errorCode).toBe(0);
    expect(broker.connections).toBe(2);
    link.close();
  });

  test('a broker that accepts and never answers costs no more than the time to open a connection', async () => {
    await using broker = await startScriptedBroker();
    const silent = { open: plainOpener().open };
    const link = new BrokerLink({
      address: broker,
      opener: { open: async (address, signal) => ({ ...(await silent.open(address, signal)), onData: () => {} }) },
      runtime: platformRuntime,
      clientId: Buffer.from('test'),
      versions: supportedVersions,
      openTimeoutMs: 100,
      usesSasl: false,
      reauthenticationThresholdMs: 0,
    });
    const error = await rejection(produce(link, 'a'));
    expect(error).toMatchObject({ sent: 'no', code: 'CONNECTION_FAILED' });
    expect(error.message).toContain('did not answer within 100 ms');
    link.close();
  });

  test('a throttled connection sends nothing until the time is over', async () => {
    await using broker = await startScriptedBroker();
    const link = linkTo(broker);
    const first = produce(link, 'a');
    (await broker.request(0)).reply(produceReply('payments', { throttleTimeMs: 300 }));
    await first;
    const atMs = performance.now();
    const second = produce(link, 'b');
    (await broker.request(1)).reply(produceReply('payments'));
    await second;
    expect(performance.now() - atMs).toBeGreaterThan(250);
    link.close();
  });

  test('a request that could not be sent while throttled times out as not sent, and the connection stays', async () => {
    await using broker = await startScriptedBroker();
    const link = linkTo(broker);
    const first = produce(link, 'a');
    (await broker.request(0)).reply(produceReply('payments', { throttleTimeMs: 300 }));
    await first;
    expect(await rejection(produce(link, 'b', 50))).toMatchObject({ sent: 'no', code: 'REQUEST_TIMEOUT' });
    const third = produce(link, 'c');
    (await broker.request(1)).reply(produceReply('payments'));
    await third;
    expect(broker.connections).toBe(1);
    link.close();
  });

  test('acks none settles without a reply, in order with others', async () => {
    await using broker = await startScriptedBroker();
    const link = linkTo(broker);
    const none = produce(link, 'unanswered', patientMs, 'none');
    const all = produce(link, 'answered');
    expect((await none)[0]).toMatchObject({ errorCode: 0, baseOffset: -1n });
    (await broker.request(1)).reply(produceReply('payments', { baseOffset: 7n }));
    expect((await all)[0]?.baseOffset).toBe(7n);
    link.close();
  });

  test('T3: a session is renewed under load: requests move to the new connection only after the old one’s replies', async () => {
    await using broker = await startScriptedBroker();
    const link = linkTo(broker, { sessionLifetimeMs: 250 });
    let offset = 0n;
    const outstanding = new Map<number, number>();
    broker.onRequest = ({ connection, reply }) => {
      outstanding.set(connection, (outstanding.get(connection) ?? 0) + 1);
      const others = [...outstanding].filter(([other, count]) => other !== connection && count > 0);
      expect(others).toEqual([]);
      const baseOffset = offset++;
      setTimeout(() => {
        outstanding.set(connection, outstanding.get(connection)! - 1);
        reply(produceReply('payments', { baseOffset }));
      }, 3);
    };
    let expected = 0n;
    while (broker.connections < 4) {
      const results = await Promise.all([produce(link, 'x'), produce(link, 'y'), produce(link, 'z')]);
      for (const [result] of results) expect(result?.baseOffset).toBe(expected++);
    }
    link.close();
  });

  test('an unused session is not renewed', async () => {
    await using broker = await startScriptedBroker();
    const link = linkTo(broker, { sessionLifetimeMs: 100 });
    await link.connect();
    expect(link.isConnected).toBe(true);
    for (let tries = 0; link.isConnected && tries < 100; tries++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(link.isConnected).toBe(false);
    expect(broker.connections).toBe(1);
    link.close();
  });

  test('close ends what is under way as maybe sent, what waits as not sent, and refuses what follows', async () => {
    await using broker = await startScriptedBroker();
    const link = linkTo(broker);
    const under = rejection(produce(link, 'a'));
    await broker.request(0);
    link.close();
    expect(await under).toMatchObject({ sent: 'maybe', code: 'TRANSPORT_CLOSED' });
    expect(await rejection(produce(link, 'b'))).toMatchObject({ sent: 'no', code: 'TRANSPORT_CLOSED' });
    await expect(link.connect()).rejects.toMatchObject({ code: 'TRANSPORT_CLOSED' });
  });

  test('close during connect ends the attempt', async () => {
    await using broker = await startScriptedBroker();
    const link = linkTo(broker);
    const waiting = rejection(produce(link, 'a'));
    const connecting = rejection(link.connect());
    link.close();
    expect(await waiting).toMatchObject({ sent: 'no' });
    expect(await connecting).toMatchObject({ sent: 'no' });
    expect(link.isConnected).toBe(false);
  });
});
