import { expect, it } from 'vitest';
import { binaryByteaArray } from './binary-array.ts';

it('an array of bytes and nulls is one buffer in the binary format of bytea[]', () => {
  const array = binaryByteaArray([Buffer.from('ab'), null, Buffer.alloc(0)]);
  expect(array?.toString('hex')).toBe(
    ['00000001', '00000001', '00000011', '00000003', '00000001', '000000026162', 'ffffffff', '00000000'].join(''),
  );
});

it('any other parameter is left as it is: a list of nulls may be of any type', () => {
  for (const other of ['a', null, [], [null], ['a', Buffer.from('a')], Buffer.from('a')]) {
    expect(binaryByteaArray(other)).toBeNull();
  }
});
