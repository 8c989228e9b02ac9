import { ConfigError } from '@sendonce/producer-core/transport';
import { describe, expect, test } from 'vitest';
import { createKafkaTransport } from './kafka-transport.ts';
import { type KafkaTransportOptions, resolveOptions } from './options.ts';

const brokers = ['127.0.0.1:9092'];

function refusal(options: unknown): ConfigError {
  try {
    createKafkaTransport(options as KafkaTransportOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return error as ConfigError;
  }
  throw new Error('was accepted');
}

describe('options', () => {
  test.each<[string, unknown, string[]]>([
    ['no options', undefined, ['options']],
    ['an unknown option', { brokers, conectionTimeout: 1 }, ['conectionTimeout']],
    ['no brokers', {}, ['brokers']],
    ['an empty list', { brokers: [] }, ['brokers']],
    ['an address without a port', { brokers: ['host'] }, ['brokers[0]']],
    ['an address with a scheme', { brokers: ['a:1', 'kafka://host:9092'] }, ['brokers[1]']],
    ['a port out of range', { brokers: ['host:70000'] }, ['brokers[0]']],
    ['an empty client id', { brokers, clientId: '' }, ['clientId']],
    ['a negative time', { brokers, connectionTimeoutMs: -1 }, ['connectionTimeoutMs']],
    ['NaN', { brokers, requestTimeoutMs: Number.NaN }, ['requestTimeoutMs']],
    ['a text for a time', { brokers, connectionTimeout: '1000' }, ['connectionTimeout']],
    [
      'both names of a time',
      { brokers, requestTimeoutMs: 1, requestTimeout: 1 },
      ['requestTimeoutMs', 'requestTimeout'],
    ],
    ['time limits switched off', { brokers, enforceRequestTimeout: false }, ['enforceRequestTimeout']],
    ['ssl of a wrong type', { brokers, ssl: 'yes' }, ['ssl']],
    ['sasl without a mechanism', { brokers, sasl: { username: 'a', password: 'hunter2' } }, ['sasl.mechanism']],
    ['an unknown mechanism', { brokers, sasl: { mechanism: 'gssapi', password: 'hunter2' } }, ['sasl.mechanism']],
    ['a missing user name', { brokers, sasl: { mechanism: 'plain', password: 'hunter2' } }, ['sasl.username']],
    [
      'an opener beside sasl',
      {
        brokers,
        connectionOpener: { open: () => {} },
        sasl: { mechanism: 'plain', username: 'a', password: 'hunter2' },
      },
      ['connectionOpener', 'sasl'],
    ],
  ])('%s is a ConfigError that names the field and no value', (_, options, fields) => {
    const error = refusal(options);
    expect(error.fields).toEqual(fields);
    expect(error.message).not.toContain('hunter2');
  });

  test('a kafkajs configuration is taken as it is', () => {
    const options = resolveOptions({
      clientId: 'payments',
      brokers: ['[::1]:9092', 'host:9093'],
      ssl: true,
      sasl: { mechanism: 'scram-sha-256', username: 'a', password: 'b' },
      connectionTimeout: 1_000,
      authenticationTimeout: 2_000,
      reauthenticationThreshold: 3_000,
      requestTimeout: 4_000,
      enforceRequestTimeout: true,
      retry: { retries: 5 },
      logLevel: 4,
    });
    expect(options).toMatchObject({
      connectionTimeoutMs: 1_000,
      authenticationTimeoutMs: 2_000,
      reauthenticationThresholdMs: 3_000,
      requestTimeoutMs: 4_000,
    });
  });

  test('addresses may come from a function, IPv6 ones in brackets', async () => {
    const { bootstrap } = resolveOptions({ brokers: async () => ['[::1]:9092', 'host:9093'] });
    expect(await bootstrap()).toEqual([
      { host: '::1', port: 9092 },
      { host: 'host', port: 9093 },
    ]);
  });
});
