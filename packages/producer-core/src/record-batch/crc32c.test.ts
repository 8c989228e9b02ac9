import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseImplementation, crc32c, plainCrc32c } from './crc32c.ts';

const native = createRequire(import.meta.url)('@node-rs/crc32') as { crc32c(bytes: Uint8Array): number };

/** RFC 3720, appendix B.4, and the check value of the CRC catalogue. */
const known: readonly (readonly [string, Uint8Array, number])[] = [
  ['nothing', new Uint8Array(0), 0],
  ['"123456789"', Buffer.from('123456789'), 0xe3069283],
  ['32 zeros', new Uint8Array(32), 0x8a9136aa],
  ['32 bytes 0xff', new Uint8Array(32).fill(0xff), 0x62a8ab43],
  ['32 incrementing bytes', Uint8Array.from({ length: 32 }, (_, index) => index), 0x46dd794e],
  ['32 decrementing bytes', Uint8Array.from({ length: 32 }, (_, index) => 31 - index), 0x113fdb5c],
];

describe('crc32c', () => {
  test.each(known)('of %s is the known value, native and plain', (_, bytes, expected) => {
    expect(crc32c(bytes)).toBe(expected);
    expect(plainCrc32c(bytes)).toBe(expected);
  });

  test('is the native one where the package is installed, and the plain one where it is not', () => {
    expect(chooseImplementation().name).toBe('native');
    const missing = chooseImplementation(() => {
      throw new Error('Cannot find module');
    });
    expect(missing).toMatchObject({ name: 'plain', crc32c: plainCrc32c });
  });

  test('the plain fallback and the native package agree on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        expect(plainCrc32c(bytes)).toBe(native.crc32c(bytes) >>> 0);
      }),
    );
  });

  test('a view into a larger buffer counts its own bytes only', () => {
    const view = Buffer.from('xx123456789yy').subarray(2, 11);
    expect(crc32c(view)).toBe(0xe3069283);
    expect(plainCrc32c(view)).toBe(0xe3069283);
  });
});
