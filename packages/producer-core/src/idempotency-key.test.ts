import { describe, expect, test } from 'vitest';
import { ConfigError, SendBatchError } from './errors.ts';
import type { IdempotencyKeyReader } from './idempotency-key.ts';
import { bench, watch } from './producer.testkit.ts';
import type { ProducerRecord } from './record.ts';
import { decodeRecordBatch } from './record-batch/index.ts';
import type { ScriptedTransport } from './scripted-transport.testkit.ts';

const payment = (value: string, more: Partial<ProducerRecord> = {}): ProducerRecord => ({
  topic: 'payments',
  value,
  ...more,
});

const ofValue: IdempotencyKeyReader = ({ value }) => `payment-${value}`;

/** The headers of each record that left, values as text. */
function sentHeaders(transport: ScriptedTransport): [string, string | null][][] {
  const { records } = decodeRecordBatch(Buffer.from(transport.only().batch.hex, 'hex'));
  return records.map(({ headers }) =>
    headers.map(([name, value]) => [String(name), value === null ? null : String(value)]),
  );
}

async function headersOf(
  record: ProducerRecord,
  idempotencyKey: IdempotencyKeyReader,
): Promise<[string, string | null][]> {
  const { producer, runtime, transport } = await bench({ idempotencyKey });
  watch(producer.send(record));
  await runtime.settle();
  return sentHeaders(transport)[0]!;
}

describe('D1: the option idempotencyKey', () => {
  test('sets the header after the record’s own, whichever form these have', async () => {
    expect(await headersOf(payment('a'), ofValue)).toEqual([['idempotency-key', 'payment-a']]);
    expect(await headersOf(payment('a', { headers: { trace: ['1', '2'] } }), ofValue)).toEqual([
      ['trace', '1'],
      ['trace', '2'],
      ['idempotency-key', 'payment-a'],
    ]);
    expect(await headersOf(payment('a', { headers: [['trace', null]] }), ofValue)).toEqual([
      ['trace', null],
      ['idempotency-key', 'payment-a'],
    ]);
  });

  test('takes bytes too, and sets nothing for undefined', async () => {
    expect(await headersOf(payment('a'), () => Buffer.from('bytes'))).toEqual([['idempotency-key', 'bytes']]);
    expect(await headersOf(payment('a'), () => undefined)).toEqual([]);
  });

  test.each([
    ['an object', { 'idempotency-key': 'mine' }, [['idempotency-key', 'mine']]],
    ['pairs', [['idempotency-key', 'mine']] as const, [['idempotency-key', 'mine']]],
    ['a null value', { 'idempotency-key': null }, [['idempotency-key', null]]],
  ])('leaves a header of that name that the caller set, and is not asked: %s', async (_, headers, expected) => {
    const asked = (): never => {
      throw new Error('asked');
    };
    expect(await headersOf(payment('a', { headers }), asked)).toEqual(expected);
  });

  test('holds for send, sendBatch and enqueue, asked once a record, and the caller’s records stay as they are', async () => {
    const asked: unknown[] = [];
    const { producer, runtime, transport } = await bench({
      idempotencyKey: (record) => {
        asked.push(record.value);
        return ofValue(record);
      },
    });
    const records = ['a', 'b', 'c', 'd'].map((value) => Object.freeze(payment(value, { headers: Object.freeze({}) })));
    watch(producer.send(records[0]!));
    watch(producer.sendBatch([records[1]!, records[2]!]));
    producer.enqueue(records[3]!);
    await runtime.settle();
    expect(sentHeaders(transport)).toEqual(
      ['a', 'b', 'c', 'd'].map((value) => [['idempotency-key', `payment-${value}`]]),
    );
    expect(asked).toEqual(['a', 'b', 'c', 'd']);
    expect(records[0]).toEqual(payment('a', { headers: {} }));
  });

  test('a retry carries the key that was read when the record was taken', async () => {
    let reads = 0;
    const { producer, runtime, transport } = await bench({ idempotencyKey: () => `read ${++reads}` });
    watch(producer.send(payment('a')));
    await runtime.settle();
    const first = transport.only();
    first.lose();
    await runtime.advance(200);
    expect(transport.only().batch.hex).toBe(first.batch.hex);
    expect(reads).toBe(1);
  });

  test('one that throws refuses that record alone, with the reason as cause', async () => {
    const cause = new Error('no id');
    const { producer, runtime, transport } = await bench({
      idempotencyKey: (record) => {
        if (record.value === 'bad') throw cause;
        return ofValue(record);
      },
    });
    const sent = watch(producer.send(payment('bad')));
    const batch = watch(producer.sendBatch([payment('a'), payment('bad'), payment('b')]));
    expect(() => producer.enqueue(payment('bad'))).toThrow(ConfigError);
    await runtime.settle();
    const request = transport.only();
    expect(request.batch.values).toEqual(['a', 'b']);
    request.answer();
    await runtime.settle();
    expect(sent.error).toMatchObject({ code: 'CONFIG', fields: ['idempotencyKey'], cause });
    expect(batch.error).toBeInstanceOf(SendBatchError);
    expect((batch.error as SendBatchError).results.map(({ error }) => error?.cause)).toEqual([
      undefined,
      cause,
      undefined,
    ]);
    expect(producer.stats().pendingRecords).toBe(0);
  });

  test.each([
    ['a number', 7, 'a number'],
    ['null', null, 'null'],
    ['a promise', Promise.resolve('a'), 'an object (Promise)'],
    ['empty text', '', 'an empty key'],
    ['no bytes', Buffer.alloc(0), 'an empty key'],
    ['a lone surrogate', 'a\ud800', 'a lone surrogate'],
  ])('what can’t be a key refuses the record: %s', async (_, key, named) => {
    const { producer, runtime, transport } = await bench({ idempotencyKey: () => key as string });
    const sent = watch(producer.send(payment('a')));
    await runtime.settle();
    expect(sent.error).toMatchObject({ code: 'CONFIG', fields: ['idempotencyKey'] });
    expect((sent.error as Error).message).toContain(named);
    expect(transport.take()).toEqual([]);
  });

  test('a partitioner sees the header, also when only the partition is asked for', async () => {
    const seen: unknown[] = [];
    const { producer, runtime } = await bench({
      idempotencyKey: ofValue,
      partitioner: ({ headers }) => {
        seen.push(headers);
        return 0;
      },
    });
    watch(producer.send(payment('a')));
    await runtime.settle();
    await producer.partitionFor(payment('b'));
    expect(seen).toEqual([[['idempotency-key', 'payment-a']], [['idempotency-key', 'payment-b']]]);
  });
});
