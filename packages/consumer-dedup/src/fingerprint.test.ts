import { expect, it } from 'vitest';
import { createFingerprintReader } from './fingerprint.ts';

// The examples of FIPS 180-2, appendix B, and of the empty message.
const ofAbc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const ofNothing = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

it('a payload’s fingerprint is its SHA-256, whether it comes as bytes, as text or not at all', () => {
  const read = createFingerprintReader('value');
  for (const value of ['abc', Buffer.from('abc'), new Uint8Array(Buffer.from('abc'))]) {
    expect(read({ value })?.toString('hex')).toBe(ofAbc);
  }
  for (const value of ['', null, undefined]) expect(read({ value })?.toString('hex')).toBe(ofNothing);
  expect(read({ value: 'é' })).toEqual(read({ value: Buffer.from('é') }));
});

it('a function says what is compared; false compares nothing', () => {
  expect(createFingerprintReader(() => 'abc')({ value: 'x' })?.toString('hex')).toBe(ofAbc);
  expect(createFingerprintReader(false)({ value: 'abc' })).toBeNull();
});
