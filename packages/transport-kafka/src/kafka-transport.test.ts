import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProduceRequest } from '@sendonce/producer-core/transport';
import { describe, expect, test } from 'vitest';
import { createKafkaTransport } from './kafka-transport.ts';
import { apiKeys } from './protocol/api-keys.ts';
import { softwareVersion } from './protocol/api-versions.ts';
import {
  metadataReply,
  plainOpener,
  produceReply,
  type ScriptedBroker,
  startScriptedBroker,
} from './scripted-broker.testkit.ts';

const request: ProduceRequest = {
  acks: 'all',
  timeoutMs: 5_000,
  partitions: [{ topic: 'payments', partition: 0, batch: Buffer.from('x') }],
};

function transportTo(brokers: string[], requestTimeoutMs = 5_000) {
  return createKafkaTransport({
    brokers,
    clientId: 'test',
    connectionOpener: plainOpener(),
    connectionTimeoutMs: 300,
    requestTimeoutMs,
  });
}

const addressOf = ({ host, port }: ScriptedBroker) => `${host}:${port}`;

describe('createKafkaTransport', () => {
  test('a bootstrap list of which only the last entry is alive is enough', async () => {
    await using broker = await startScriptedBroker();
    const transport = transportTo(['127.0.0.1:1', '127.0.0.1:2', addressOf(broker)]);
    await transport.connect();
    await transport.close();
  });

  test('when none is alive the error tells each address and its reason', async () => {
    const transport = transportTo(['127.0.0.1:1', '127.0.0.1:2']);
    const error: Error = await transport.connect().then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error).toMatchObject({ code: 'NO_BROKER_REACHABLE', sent: 'no' });
    expect(error.message).toMatch(/127\.0\.0\.1:1 .*ECONNREFUSED.*127\.0\.0\.1:2 .*ECONNREFUSED/s);
    await transport.close();
  });

  test('T3: produce requests have a connection of their own, which a slow metadata reply does not hold up', async () => {
    await using broker = await startScriptedBroker();
    const transport = transportTo([addressOf(broker)]);
    broker.onRequest = ({ apiKey, reply }) => {
      if (apiKey === apiKeys.produce) reply(produceReply('payments'));
      else if (broker.seen.length === 1) reply(metadataReply(broker));
    };
    await transport.metadata([]);
    const slow = transport.metadata([]).then(
      () => 'answered',
      () => 'failed',
    );
    expect((await transport.produce(1, request))[0]?.errorCode).toBe(0);
    expect(new Set(broker.seen.map(({ connection }) => connection)).size).toBe(2);
    await transport.close();
    expect(await slow).toBe('failed');
  });

  test('a broker that lives elsewhere now is reached there', async () => {
    await using before = await startScriptedBroker();
    await using after = await startScriptedBroker();
    const transport = transportTo([addressOf(before)]);
    let home: ScriptedBroker = before;
    for (const broker of [before, after]) {
      broker.onRequest = ({ apiKey, reply }) =>
        reply(apiKey === apiKeys.produce ? produceReply('payments') : metadataReply(home));
    }
    await transport.metadata([]);
    await transport.produce(1, request);
    home = after;
    await transport.metadata([]);
    await transport.produce(1, request);
    expect(after.seen.filter(({ apiKey }) => apiKey === apiKeys.produce)).toHaveLength(1);
    await transport.close();
  });

  test('after a metadata request without an answer the next one goes to another address', async () => {
    await using silent = await startScriptedBroker();
    await using answering = await startScriptedBroker();
    answering.onRequest = ({ reply }) => reply(metadataReply(answering));
    const transport = transportTo([addressOf(silent), addressOf(answering)], 100);
    await expect(transport.metadata([])).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT', sent: 'maybe' });
    expect((await transport.metadata([])).brokers).toEqual([
      { brokerId: 1, host: answering.host, port: answering.port },
    ]);
    await transport.close();
  });

  test('one broker whose name does not resolve: requests to it were not sent, the others are served', async () => {
    await using broker = await startScriptedBroker();
    const transport = transportTo([addressOf(broker)]);
    const nowhere = { host: 'no-such-broker.invalid', port: 9092 };
    broker.onRequest = ({ apiKey, reply }) =>
      reply(apiKey === apiKeys.produce ? produceReply('payments') : metadataReply(broker, nowhere));
    await transport.metadata([]);
    const lost = transport.produce(2, request);
    expect((await transport.produce(1, request))[0]?.errorCode).toBe(0);
    await expect(lost).rejects.toMatchObject({ sent: 'no' });
    expect((await transport.metadata([])).brokers).toHaveLength(2);
    await transport.close();
  });

  test('a broker whose address nobody told: nothing sent', async () => {
    const transport = transportTo(['127.0.0.1:1']);
    await expect(transport.produce(7, request)).rejects.toMatchObject({ code: 'UNKNOWN_BROKER', sent: 'no' });
    await transport.close();
  });

  test('the version that brokers are told is the package’s', () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
      version: string;
    };
    expect(softwareVersion).toBe(version);
  });
});
