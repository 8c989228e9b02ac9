import { describe, expect, test } from 'vitest';
import { ConfigError, SendBatchError } from './errors.ts';
import { bench, watch } from './producer.testkit.ts';
import { createProducer } from './producer.ts';
import { ScriptedTransport } from './scripted-transport.testkit.ts';

const record = { topic: 'payments', value: 'a' };

/** What a call rejects with. A call that throws instead fails the test. */
async function rejection(call: () => Promise<unknown>): Promise<ConfigError> {
  const error: unknown = await call().then(
    () => expect.unreachable(),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return error as ConfigError;
}

describe('C15: options of a call that are wrong are refused by name, as a rejected promise', () => {
  const wrongOptions: [options: unknown, field: string][] = [
    [null, 'options'],
    ['x', 'options'],
    [{ signal: 'x' }, 'signal'],
    [{ signal: null }, 'signal'],
    [{ signal: {} }, 'signal'],
    [{ timeoutMs: 5 }, 'timeoutMs'],
  ];

  test.each(wrongOptions)('send and sendBatch: %j', async (options, field) => {
    const { producer, transport, runtime } = await bench();
    expect((await rejection(() => producer.send(record, options as never))).fields).toEqual([field]);
    expect((await rejection(() => producer.sendBatch([record], options as never))).fields).toEqual([field]);
    await runtime.advance(10);
    expect(transport.take()).toEqual([]);
  });

  test.each(wrongOptions)('createProducer: %j', async (options, field) => {
    const creating = () => createProducer({ transport: new ScriptedTransport() }, options as never);
    expect((await rejection(creating)).fields).toEqual([field]);
  });

  test.each<[options: unknown, field: string]>([
    [null, 'options'],
    [5, 'options'],
    [{ timeoutMs: Number.NaN }, 'timeoutMs'],
    [{ timeoutMs: -1 }, 'timeoutMs'],
    [{ timeoutMs: '5' }, 'timeoutMs'],
    [{ timeout: 5 }, 'timeout'],
  ])('close: %j, and the producer stays open', async (options, field) => {
    const { producer } = await bench();
    expect((await rejection(() => producer.close(options as never))).fields).toEqual([field]);
    expect(producer.state).toBe('ready');
  });

  test('an option that is undefined is one that is absent', async () => {
    const { producer, transport, runtime } = await bench();
    transport.onProduce = (request) => request.answer();
    const sent = watch(producer.send(record, { signal: undefined } as never));
    await runtime.advance(10);
    expect(sent.value).toBeDefined();
  });

  test.each([2 ** 31, 1e12, Number.POSITIVE_INFINITY])('close waits also for %d ms', async (timeoutMs) => {
    const { producer, transport, runtime } = await bench({ requestTimeoutMs: 1_000, deliveryTimeoutMs: 2_000 });
    const sent = watch(producer.send(record));
    await runtime.advance(10);
    const closed = watch(producer.close({ timeoutMs }));
    await runtime.advance(100);
    expect(producer.state).toBe('closing');
    transport.only().answer();
    await runtime.advance(10);
    expect(sent.value).toBeDefined();
    expect(closed).toHaveProperty('value');
    expect(producer.state).toBe('closed');
  });
});

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({ ...record }, {});
  revoke();
  return proxy;
};

describe('C13: a record that throws when it is read is a record that is wrong', () => {
  const throwing: [string, () => object, string][] = [
    [
      'a topic getter that throws',
      () => ({
        get topic(): string {
          throw new Error('boom');
        },
        value: 'a',
      }),
      'boom',
    ],
    ['a revoked proxy', revoked, 'revoked'],
    [
      'a header’s getter that throws',
      () => ({
        ...record,
        headers: {
          get a(): string {
            throw new Error('boom');
          },
        },
      }),
      'boom',
    ],
    [
      'a getter that throws no Error',
      () => ({
        ...record,
        get key(): string {
          throw undefined;
        },
      }),
      'undefined',
    ],
  ];

  test.each(throwing)('%s', async (_what, make, problem) => {
    const refused: (string | null)[] = [];
    const { producer, transport, runtime } = await bench({
      hooks: { onRecordRefused: (topic) => void refused.push(topic) },
    });
    transport.onProduce = (request) => request.answer();
    const wrong = make() as typeof record;
    const fromSend = await rejection(() => producer.send(wrong));
    expect(fromSend.fields).toEqual(['record']);
    expect(fromSend.message).toContain(problem);
    expect(() => producer.enqueue(wrong)).toThrow(ConfigError);
    const batch = watch(producer.sendBatch([record, wrong, record]));
    await runtime.advance(10);
    expect(batch.error).toBeInstanceOf(SendBatchError);
    const { results } = batch.error as SendBatchError;
    expect(results.map(({ error }) => error?.name)).toEqual([undefined, 'ConfigError', undefined]);
    expect(refused).toHaveLength(3);
    expect(producer.stats()).toMatchObject({ pendingRecords: 0, hookFailures: 0 });
  });
});
