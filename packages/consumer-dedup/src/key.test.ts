import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DedupConfigError, KeyError } from './errors.ts';
import { createKeyReader, type KeySource, MAX_PLAIN_KEY_BYTES, positionKey } from './key.ts';

const header = createKeyReader({ header: 'idempotency-key' });
const byFunction = (value: unknown) => createKeyReader((() => value) as KeySource)({});

describe('D1: where the key is found', () => {
  it.each([
    ['an object', { 'idempotency-key': 'p1' }],
    ['an object with bytes', { 'idempotency-key': Buffer.from('p1') }],
    ['an object with a list', { 'idempotency-key': ['p1'] }],
    ['a repeat of the same value', { 'idempotency-key': ['p1', Buffer.from('p1')] }],
    ['a map', new Map([['idempotency-key', Buffer.from('p1')]])],
    ['a map with bytes as names', new Map([[Buffer.from('idempotency-key'), Buffer.from('p1')]])],
    [
      'pairs',
      [
        ['other', 'x'],
        ['idempotency-key', 'p1'],
      ] as const,
    ],
    ['one object per header', [{ other: 'x' }, { 'idempotency-key': 'p1' }]],
  ])('in headers given as %s', (_, headers) => {
    expect(header({ headers })).toEqual(Buffer.from('p1'));
  });

  it.each([
    ['no headers', undefined],
    ['null headers', null],
    ['another name', { 'Idempotency-Key': 'p1' }],
    ['no value', { 'idempotency-key': undefined }],
    ['an empty value', { 'idempotency-key': '' }],
    ['a name of every object', Object.create({ 'idempotency-key': 'inherited' })],
  ])('nowhere with %s', (_, headers) => {
    expect(header({ headers })).toBe(null);
  });

  it('different values under one name are no key', () => {
    expect(() => header({ headers: { 'idempotency-key': ['a', 'b'] } })).toThrow(KeyError);
  });

  it('behind a JSON pointer', () => {
    const read = createKeyReader({ jsonPointer: '/payment/~1id~0/1' });
    expect(read({ value: Buffer.from('{"payment":{"/id~":["a","b"]}}') })).toEqual(Buffer.from('b'));
    expect(read({ value: '{"payment":{}}' })).toBe(null);
    expect(read({ value: '{"payment":{"/id~":[]}}' })).toBe(null);
    expect(read({ value: null })).toBe(null);
    expect(createKeyReader({ jsonPointer: '/__proto__/x' })({ value: '{}' })).toBe(null);
    expect(() => read({ value: 'not JSON' })).toThrow(KeyError);
  });

  it('in the record key, and in what a function returns', () => {
    expect(createKeyReader('record-key')({ key: 'k' })).toEqual(Buffer.from('k'));
    expect(byFunction(12n)).toEqual(Buffer.from('12'));
    expect(byFunction(undefined)).toBe(null);
  });

  it('sources that make no sense are refused at once', () => {
    for (const source of [{ header: '' }, { jsonPointer: 'id' }, { jsonPointer: '/a~2' }, 'key', 7, null, {}]) {
      expect(() => createKeyReader(source as KeySource), JSON.stringify(source)).toThrow(DedupConfigError);
    }
  });
});

describe('D1: keys that are not exact are refused rather than taken for one another', () => {
  it.each([
    ['an integer past 2^53, which JSON.parse has rounded', JSON.parse('12345678901234567890')],
    ['a fraction', 1.5],
    ['a lone surrogate', 'a\ud800'],
    ['a boolean', true],
    ['an object', {}],
  ])('%s', (_, value) => {
    expect(() => byFunction(value)).toThrow(KeyError);
  });
});

describe('D1: numbers and bytes in JSON count only as they are written', () => {
  const byPointer = createKeyReader({ jsonPointer: '/id' });

  it.each(['9007199254740990.6', '1.00000000000000000001', '1.0', '1e3', '12345678901234567890'])(
    'the number %s is refused',
    (number) => {
      expect(() => byPointer({ value: `{"id":${number}}` })).toThrow(KeyError);
    },
  );

  it.each([
    ['9007199254740991', '9007199254740991'],
    ['-5', '-5'],
    ['0', '0'],
  ])('the number %s is the key %s', (number, key) => {
    expect(byPointer({ value: `{"other":1.5,"id":${number}}` })).toEqual(Buffer.from(key));
  });

  it('a value that is not UTF-8 is refused', () => {
    const value = Buffer.concat([Buffer.from('{"id":"'), Buffer.of(0xff), Buffer.from('"}')]);
    expect(() => byPointer({ value })).toThrow(/not UTF-8/);
  });
});

describe('D1: stored keys', () => {
  it('stay as they are up to the limit, and are hashed whole beyond it', () => {
    expect(byFunction('x'.repeat(MAX_PLAIN_KEY_BYTES))).toHaveLength(MAX_PLAIN_KEY_BYTES);
    const long = byFunction('x'.repeat(MAX_PLAIN_KEY_BYTES + 1));
    expect(long?.toString()).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(long).not.toEqual(byFunction(`${'x'.repeat(MAX_PLAIN_KEY_BYTES)}y`));
  });

  it('a short key that looks like a hashed one, or like a position, is not it', () => {
    const hashed = byFunction('x'.repeat(1000))!;
    expect(byFunction(hashed)).not.toEqual(hashed);
    const position = positionKey({ topic: 't', partition: 1, offset: 2n });
    expect(byFunction(position)).not.toEqual(position);
  });

  it('are different for different keys, and the same for text and its UTF-8', () => {
    const keys = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 400 }),
      fc.constantFrom('sha256:', 'position:'),
    );
    fc.assert(
      fc.property(keys, keys, (a, b) => {
        expect(byFunction(a)!.equals(byFunction(b)!)).toBe(a === b);
        expect(byFunction(Buffer.from(a))).toEqual(byFunction(a));
      }),
    );
  });

  it('a position needs topic, partition and offset', () => {
    expect(() => positionKey({ topic: 't', partition: null, offset: 2n })).toThrow(KeyError);
  });
});
