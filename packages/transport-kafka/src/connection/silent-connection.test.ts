import {
  type PartitionResult,
  type ProduceRequest,
  platformRuntime,
  type Runtime,
  TransportError,
} from '@sendonce/producer-core/transport';
import { expect, test } from 'vitest';
import { supportedVersions } from '../protocol/api-keys.ts';
import { TopicNames } from '../protocol/topic-names.ts';
import { plainOpener, produceReply, startScriptedBroker } from '../scripted-broker.testkit.ts';
import { BrokerLink } from './broker-link.ts';
import { ProduceCall } from './calls.ts';
import type { ConnectionOpener } from './connection-opener.ts';

const speed = 30;
const startedMs = performance.now();

/** Time runs thirty times as fast. */
const fastRuntime: Runtime = {
  ...platformRuntime,
  monotonicMs: () => startedMs + (performance.now() - startedMs) * speed,
  schedule: (delayMs, callback) => platformRuntime.schedule(delayMs / speed, callback),
};
const requestTimeoutMs = 30_000;
const names = new TopicNames();

function linkTo(broker: { host: string; port: number }, opener: ConnectionOpener): BrokerLink {
  return new BrokerLink({
    address: broker,
    opener,
    runtime: fastRuntime,
    clientId: Buffer.from('test'),
    versions: supportedVersions,
    openTimeoutMs: 5_000,
    usesSasl: false,
    reauthenticationThresholdMs: 10_000,
  });
}

function produce(link: BrokerLink, text: string): Promise<PartitionResult[]> {
  const partitions = [{ topic: 'payments', partition: 0, batch: Buffer.from(text) }];
  const request: ProduceRequest = { acks: 'all', timeoutMs: requestTimeoutMs, partitions };
  return new Promise((resolve, reject) =>
    link.submit(new ProduceCall(request, names, () => {}, resolve, reject), requestTimeoutMs),
  );
}

const outcome = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

/** Opens the first connection; the others as `later` says. */
function openerWith(later: ConnectionOpener['open']): ConnectionOpener & { readonly opened: number } {
  const { open } = plainOpener();
  let opened = 0;
  return {
    open: (address, signal) => (opened++ === 0 ? open(address, signal) : later(address, signal)),
    get opened() {
      return opened;
    },
  };
}

test('T4: a connection that says nothing is dropped long before the request’s time limit when the broker answers on another', async () => {
  await using broker = await startScriptedBroker();
  const link = linkTo(broker, plainOpener());
  const calledAtMs = fastRuntime.monotonicMs();
  const lost = await outcome(produce(link, 'a'));
  expect(lost).toBeInstanceOf(TransportError);
  expect(lost).toMatchObject({ code: 'CONNECTION_LOST', sent: 'maybe' });
  expect((lost as Error).message).toContain('while it answered on another connection');
  expect(fastRuntime.monotonicMs() - calledAtMs).toBeLessThan(requestTimeoutMs / 2);
  broker.onRequest = ({ reply }) => reply(produceReply('payments', { baseOffset: 5n }));
  expect((await produce(link, 'b'))[0]?.baseOffset).toBe(5n);
  expect(broker.seen.at(-1)?.connection).toBe(1);
  expect(broker.connections).toBe(2);
  link.close();
});

test('an answer that comes while another connection is opened keeps the old one', async () => {
  await using broker = await startScriptedBroker();
  const opener = openerWith(async (address, signal) => {
    (await broker.request(0)).reply(produceReply('payments', { baseOffset: 3n }));
    await first;
    return plainOpener().open(address, signal);
  });
  const link = linkTo(broker, opener);
  const first = produce(link, 'a');
  expect((await first)[0]?.baseOffset).toBe(3n);
  broker.onRequest = ({ reply }) => reply(produceReply('payments', { baseOffset: 4n }));
  expect((await produce(link, 'b'))[0]?.baseOffset).toBe(4n);
  expect(opener.opened).toBe(2);
  expect(broker.seen.map(({ connection }) => connection)).toEqual([0, 0]);
  link.close();
});

test('a broker that answers neither on the old connection nor on another loses it, so that another leader is looked for', async () => {
  await using broker = await startScriptedBroker();
  const never: ConnectionOpener['open'] = (_, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const link = linkTo(broker, openerWith(never));
  const lost = await outcome(produce(link, 'a'));
  expect(lost).toMatchObject({ code: 'CONNECTION_LOST', sent: 'maybe' });
  expect((lost as Error).message).toContain('let no other connection be opened');
  expect(link.isConnected).toBe(false);
  link.close();
});

test('credentials that are refused meanwhile do not cost the session that was let in before', async () => {
  await using broker = await startScriptedBroker();
  const refused = new TransportError('refused', { sent: 'no', code: 'AUTHENTICATION_FAILED', retriable: false });
  const opener = openerWith(() => Promise.reject(refused));
  const link = linkTo(broker, opener);
  const first = produce(link, 'a');
  while (opener.opened < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  (await broker.request(0)).reply(produceReply('payments', { baseOffset: 9n }));
  expect((await first)[0]?.baseOffset).toBe(9n);
  expect(link.isConnected).toBe(true);
  link.close();
});

test('a broker that said that it will not read for a while is not doubted', async () => {
  await using broker = await startScriptedBroker();
  const opener = openerWith(plainOpener().open);
  const link = linkTo(broker, opener);
  const [first, second] = [produce(link, 'a'), produce(link, 'b')];
  (await broker.request(0)).reply(produceReply('payments', { throttleTimeMs: 9_000 }));
  await first;
  await new Promise((resolve) => setTimeout(resolve, 8_000 / speed));
  (await broker.request(1)).reply(produceReply('payments', { baseOffset: 1n }));
  expect((await second)[0]?.baseOffset).toBe(1n);
  expect(opener.opened).toBe(1);
  link.close();
});
