import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { murmur2, partitionForKey } from './murmur2.ts';

interface Vector {
  readonly key: string;
  readonly murmur2: number;
  readonly of12: number;
  readonly of15: number;
  readonly of32: number;
  readonly of1000: number;
}

const { keys } = JSON.parse(readFileSync(new URL('../../vectors/murmur2-java.json', import.meta.url), 'utf8')) as {
  keys: Vector[];
};

function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString()).equals(bytes);
}

describe('murmur2', () => {
  test("P19: hashes each key as Java's client does, and gives it the same partition", () => {
    expect(keys.length).toBeGreaterThan(200);
    for (const vector of keys) {
      const key = Buffer.from(vector.key, 'hex');
      expect(murmur2(key)).toBe(vector.murmur2);
      expect([12, 15, 32, 1000].map((count) => partitionForKey(key, count))).toEqual([
        vector.of12,
        vector.of15,
        vector.of32,
        vector.of1000,
      ]);
    }
  });

  test('a string is hashed as its UTF-8', () => {
    const texts = keys.map(({ key }) => Buffer.from(key, 'hex')).filter(isText);
    expect(texts.some((bytes) => bytes.some((byte) => byte > 0x7f))).toBe(true);
    for (const bytes of texts) expect(murmur2(bytes.toString())).toBe(murmur2(bytes));
  });

  test.each([1023, 1024, 1025, 5000])('a string of %d characters is hashed as its UTF-8', (length) => {
    for (const character of ['a', 'é', '€']) {
      const key = character.repeat(length);
      expect(murmur2(key)).toBe(murmur2(Buffer.from(key)));
    }
  });

  test('a view and a plain Uint8Array are hashed as their own bytes', () => {
    const key = Buffer.from('xxpayment-000001yy').subarray(2, -2);
    expect(murmur2(key)).toBe(murmur2('payment-000001'));
    expect(murmur2(new Uint8Array(key))).toBe(murmur2('payment-000001'));
  });
});
