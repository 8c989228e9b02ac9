import { expect, it } from 'vitest';
import { ArrayParameter } from './array-parameter.ts';

const hex = (parameter: ArrayParameter): string | undefined => parameter.binary()?.toString('hex');
const header = (oid: string, hasNull: boolean, count: number): string =>
  ['00000001', hasNull ? '00000001' : '00000000', oid, count.toString(16).padStart(8, '0'), '00000001'].join('');

it('an array is one buffer in PostgreSQL’s binary format', () => {
  expect(hex(ArrayParameter.bytea([Buffer.from('ab'), null, Buffer.alloc(0)]))).toBe(
    `${header('00000011', true, 3)}000000026162ffffffff00000000`,
  );
  expect(hex(ArrayParameter.text(['é', '', null]))).toBe(`${header('00000019', true, 3)}00000002c3a900000000ffffffff`);
  expect(hex(ArrayParameter.text(['a', 'a', null, null, 'a', 'b']))).toBe(
    `${header('00000019', true, 6)}00000001610000000161ffffffffffffffff00000001610000000162`,
  );
  expect(hex(ArrayParameter.int4([1, -1, null]))).toBe(
    `${header('00000017', true, 3)}000000040000000100000004ffffffffffffffff`,
  );
  expect(hex(ArrayParameter.int8([258n, -(2n ** 63n)]))).toBe(
    `${header('00000014', false, 2)}000000080000000000000102000000088000000000000000`,
  );
  expect(hex(ArrayParameter.int8([null]))).toBe(`${header('00000014', true, 1)}ffffffff`);
});

it('a value that does not fit its type is left to the server to refuse', () => {
  for (const partition of [1.5, 2 ** 31, Number.NaN, '1' as unknown as number]) {
    expect(ArrayParameter.int4([0, partition]).binary()).toBeNull();
  }
  expect(ArrayParameter.int8([2n ** 63n]).binary()).toBeNull();
});
