import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ConfigError } from './errors.ts';
import { checkRecord, type ProducerRecord, RecordMetadata } from './record.ts';

function refusal(record: unknown): ConfigError {
  try {
    checkRecord(record as ProducerRecord);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the record was taken');
}

describe('a record that can be sent', () => {
  test.each([
    { topic: 't', value: 'text' },
    { topic: 't', value: null },
    { topic: 't', value: '' },
    { topic: 't', value: Buffer.from('x'), key: new Uint8Array(2), partition: 0, timestamp: 0 },
    { topic: 't', value: 'v', key: null, headers: { a: 'b', c: null, d: ['e', Buffer.alloc(0), null] } },
    {
      topic: 't',
      value: 'v',
      headers: [
        ['a', 'b'],
        ['a', null],
        ['', ''],
      ],
    },
    { topic: 't', value: 'v', key: undefined, headers: undefined, partition: undefined, timestamp: undefined },
  ] as ProducerRecord[])('is taken: %j', (record) => {
    expect(() => checkRecord(record)).not.toThrow();
  });
});

describe('a record that can’t be sent is refused by the field’s name', () => {
  test.each([
    [undefined, 'record'],
    [null, 'record'],
    ['text', 'record'],
    [{ value: 'v' }, 'topic'],
    [{ topic: '', value: 'v' }, 'topic'],
    [{ topic: 7, value: 'v' }, 'topic'],
    [{ topic: 't' }, 'value'],
    [{ topic: 't', value: 12 }, 'value'],
    [{ topic: 't', value: { a: 1 } }, 'value'],
    [{ topic: 't', value: ['v'] }, 'value'],
    [{ topic: 't', value: 'v', key: 5 }, 'key'],
    [{ topic: 't', value: 'v', headers: 'h' }, 'headers'],
    [{ topic: 't', value: 'v', headers: null }, 'headers'],
    [{ topic: 't', value: 'v', headers: [['a']] }, 'headers'],
    [{ topic: 't', value: 'v', headers: [[1, 'a']] }, 'headers'],
    [{ topic: 't', value: 'v', headers: [['a', 1]] }, 'headers[0] ("a")'],
    [{ topic: 't', value: 'v', headers: { a: 1 } }, 'headers["a"]'],
    [{ topic: 't', value: 'v', headers: { a: ['b', undefined] } }, 'headers["a"][]'],
    [{ topic: 't', value: 'v', partition: -1 }, 'partition'],
    [{ topic: 't', value: 'v', partition: 1.5 }, 'partition'],
    [{ topic: 't', value: 'v', partition: '1' }, 'partition'],
    [{ topic: 't', value: 'v', timestamp: Number.NaN }, 'timestamp'],
    [{ topic: 't', value: 'v', timestamp: -1 }, 'timestamp'],
    [{ topic: 't', value: 'v', timestamp: new Date() }, 'timestamp'],
  ])('%j', (record, field) => {
    const error = refusal(record);
    expect(error.fields).toEqual([field]);
    expect(error.message).not.toContain('[object Object]');
  });

  class Headed {
    get a(): string {
      return 'b';
    }
  }
  test.each([
    ['a Map', new Map([['a', 'b']])],
    ['a Set of pairs', new Set([['a', 'b']])],
    ['a Date', new Date(0)],
    ['fetch’s Headers', new Headers({ a: 'b' })],
    ['a URLSearchParams', new URLSearchParams('a=b')],
    ['an object with getters of its class', new Headed()],
    ['a Promise', Promise.resolve({ a: 'b' })],
    ['a Buffer', Buffer.from('a')],
    ['a function', () => ({ a: 'b' })],
  ])('headers given as %s, which would be dropped without a word', (_what, headers) => {
    expect(refusal({ topic: 't', value: 'v', headers }).fields).toEqual(['headers']);
  });

  test('headers that can be spread into pairs say so', () => {
    expect(refusal({ topic: 't', value: 'v', headers: new Map() }).message).toBe(
      "The record's headers must be a plain object or an array of [name, value] pairs, not an object (Map). Where it yields such pairs, write `headers: [...it]`.",
    );
    const bare = Object.assign(Object.create(null), { a: 'b' });
    expect(() => checkRecord({ topic: 't', value: 'v', headers: bare })).not.toThrow();
  });

  test('what is not a number is not shown as one', () => {
    expect(refusal({ topic: 't', value: 'v', partition: '1' }).message).toContain('not a string');
    expect(refusal({ topic: 't', value: 'v', timestamp: 1n }).message).toContain('not a bigint');
    expect(refusal({ topic: 't', value: 'v', partition: 1.5 }).message).toContain('not 1.5');
  });

  test('an absent value says how to write a tombstone', () => {
    expect(refusal({ topic: 't' }).message).toContain('value: null');
  });
});

describe('RecordMetadata', () => {
  const batch = { topic: 't', partition: 3, baseOffset: 100n, logAppendTimeMs: -1 };

  test('the offset is the batch’s first plus the record’s place', () => {
    const { topic, partition, offset, timestamp } = new RecordMetadata(batch, 5, 1_700_000_000_000);
    expect({ topic, partition, offset, timestamp }).toEqual({
      topic: 't',
      partition: 3,
      offset: 105n,
      timestamp: 1_700_000_000_000,
    });
  });

  test('an unknown offset stays -1n, and LogAppendTime replaces the timestamp', () => {
    const metadata = new RecordMetadata({ ...batch, baseOffset: -1n, logAppendTimeMs: 42 }, 5, 1);
    expect(metadata.offset).toBe(-1n);
    expect(metadata.timestamp).toBe(42);
  });

  test('it can be printed and put into JSON', () => {
    const metadata = new RecordMetadata(batch, 0, 7);
    expect(inspect(metadata)).toBe("{ topic: 't', partition: 3, offset: 100n, timestamp: 7 }");
    expect(JSON.stringify(metadata)).toBe('{"topic":"t","partition":3,"offset":"100","timestamp":7}');
  });
});
