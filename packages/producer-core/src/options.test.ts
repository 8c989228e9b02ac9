import { describe, expect, test } from 'vitest';
import { ConfigError } from './errors.ts';
import { guaranteesOf, startupReport } from './guarantees.ts';
import { type ProducerOptions, resolveOptions } from './options.ts';
import type { Transport } from './transport/transport.ts';

const transport: Transport = {
  connect: async () => {},
  close: async () => {},
  metadata: async () => ({ brokers: [], topics: [] }),
  initProducerId: async () => ({ producerId: 1n, epoch: 0 }),
  produce: async () => [],
};

function refusal(options: object): ConfigError {
  try {
    resolveOptions({ transport, ...options } as ProducerOptions);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the options were taken');
}

describe('options', () => {
  test('defaults are those of the documentation', () => {
    const { transport: _transport, runtime: _runtime, ...defaults } = resolveOptions({ transport });
    expect(defaults).toEqual({
      clientId: 'sendonce',
      idempotence: true,
      acks: 'all',
      maxInFlight: 5,
      lingerMs: 5,
      batchSize: 262_144,
      maxRequestSize: 1_048_576,
      bufferMemory: 33_554_432,
      maxBlockMs: 60_000,
      requestTimeoutMs: 30_000,
      deliveryTimeoutMs: 120_000,
      retryBackoffMs: 100,
      retryBackoffMaxMs: 1_000,
      metadataMaxAgeMs: 300_000,
      producerIdExpirationMs: 86_400_000,
      compression: 'none',
      partitioner: undefined,
      idempotencyKey: undefined,
      hooks: {},
      logger: undefined,
    });
  });

  test.each([
    ['maxInFlight', 0],
    ['maxInFlight', 2.5],
    ['maxInFlight', '5'],
    ['lingerMs', -1],
    ['lingerMs', Number.NaN],
    ['requestTimeoutMs', Number.POSITIVE_INFINITY],
    ['requestTimeoutMs', 0],
    ['deliveryTimeoutMs', null],
    ['retryBackoffMs', '100'],
    ['batchSize', -5],
    ['bufferMemory', 1.5],
    ['maxBlockMs', {}],
    ['acks', 'most'],
    ['acks', -1],
    ['idempotence', 'yes'],
    ['clientId', ''],
    ['compression', 'brotli'],
    ['compression', { name: 'mine' }],
    ['partitioner', 'random'],
    ['idempotencyKey', 'payment-id'],
    ['idempotencyKey', null],
    ['logger', { info() {} }],
    ['runtime', {}],
    ['transport', {}],
    ['transport', null],
  ])('option %s: %j is refused by its name', (name, value) => {
    const error = refusal({ [name]: value });
    expect(error.fields).toEqual([name]);
    expect(error.message).toContain(name);
    expect(error.message).not.toContain('[object Object]');
  });

  test.each([
    ['no id', { name: 'mine' }, 'compression.id', 'undefined'],
    ['an id that is none', { name: 'mine', id: 9 }, 'compression.id', '9'],
    ['the id of no codec', { name: 'mine', id: 0 }, 'compression.id', '0'],
    ['a name for an id', { name: 'mine', id: 'gzip' }, 'compression.id', "'gzip'"],
    ['no name', { id: 1 }, 'compression.name', 'undefined'],
  ])('a codec with %s, which brokers would refuse or misread, is refused', (_what, codec, field, shown) => {
    const bytes = (given: Uint8Array) => given;
    const error = refusal({ compression: { ...codec, compress: bytes, decompress: bytes } });
    expect(error.fields).toEqual([field]);
    expect(error.message).toContain(`not ${shown}.`);
  });

  test('an unknown option is refused, and the message lists those there are', () => {
    const error = refusal({ retries: 5 });
    expect(error.message).toContain('no option retries');
    expect(error.message).toContain('deliveryTimeoutMs');
  });

  test('an unknown hook is refused', () => {
    expect(refusal({ hooks: { onSent() {} } }).message).toContain('no hook onSent');
    expect(refusal({ hooks: { onEvent: 1 } }).fields).toEqual(['hooks.onEvent']);
  });

  test('no options at all is a ConfigError, and so is no transport', () => {
    expect(() => resolveOptions(undefined as unknown as ProducerOptions)).toThrow(ConfigError);
    expect(() => resolveOptions({} as ProducerOptions)).toThrow('transport is missing');
  });

  test.each([
    [{ acks: 'leader' }, 'acks', 'idempotence'],
    [{ acks: 'none' }, 'acks', 'idempotence'],
    [{ maxInFlight: 6 }, 'maxInFlight', 'idempotence'],
    [{ deliveryTimeoutMs: 1_000, requestTimeoutMs: 2_000 }, 'deliveryTimeoutMs', 'requestTimeoutMs'],
    [{ retryBackoffMs: 500, retryBackoffMaxMs: 100 }, 'retryBackoffMaxMs', 'retryBackoffMs'],
    [{ batchSize: 2_000, maxRequestSize: 1_000 }, 'batchSize', 'maxRequestSize'],
    [{ bufferMemory: 8_192, maxRequestSize: 16_384 }, 'bufferMemory', 'maxRequestSize'],
  ])('C5, C15: %j is refused naming both options and the fix', (options, first, second) => {
    const error = refusal(options);
    expect(error.fields).toEqual([first, second]);
    expect(error.message).toContain(first);
    expect(error.message).toContain(second);
    expect(error.message).toMatch(/Write|Raise|Lower/);
  });

  test('C15: idempotence is off only when the caller wrote so', () => {
    expect(resolveOptions({ transport, idempotence: false, acks: 'leader', maxInFlight: 20 }).idempotence).toBe(false);
    expect(resolveOptions({ transport, ...({ idempotence: undefined } as object) }).idempotence).toBe(true);
  });
});

describe('guarantees', () => {
  test('with the defaults they promise exactly once, and say where that ends', () => {
    const guarantees = guaranteesOf(resolveOptions({ transport }));
    expect(guarantees).toMatchObject({ exactlyOncePerSession: true, ordered: true, acks: 'all', maxInFlight: 5 });
    expect(guarantees.limits.join(' ')).toContain('new session');
    expect(guarantees.limits.join(' ')).toContain('producerIdExpirationMs');
    expect(startupReport('payments', guarantees)).toContain('payments: idempotence on, acks all');
  });

  test('without idempotence they say what may happen', () => {
    const guarantees = guaranteesOf(resolveOptions({ transport, idempotence: false, acks: 'none', maxInFlight: 5 }));
    expect(guarantees).toMatchObject({ exactlyOncePerSession: false, ordered: false });
    expect(guarantees.limits.join(' ')).toMatch(/twice.*order.*lost/);
    expect(startupReport('x', guarantees)).toContain('idempotence OFF');
  });
});
