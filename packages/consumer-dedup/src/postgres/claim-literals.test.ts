import { expect, it } from 'vitest';
import type { ClaimRequest } from '../store.ts';
import { claimLiterals } from './claim-literals.ts';

const HOSTILE = `'); DROP TABLE effects; -- \\ $claim$ "`;

function request(partition: number | null = 0): ClaimRequest {
  return {
    key: Buffer.from(HOSTILE),
    fingerprint: null,
    source: { topic: HOSTILE, partition, offset: -1n },
    note: HOSTILE,
  };
}

it('D1: nothing of a message stands in the SQL but hexadecimal digits and integers', () => {
  const sql = claimLiterals(3, 1000, HOSTILE, [request(), request(null)])!;
  const plain = sql.replaceAll(/decode\('[0-9a-f]*', 'hex'\)/g, 'BYTES');
  expect(plain.replaceAll("convert_from(BYTES, 'UTF8')", 'TEXT')).toBe(
    [
      '3',
      "'1000'",
      'TEXT',
      'ARRAY[BYTES, BYTES]::bytea[]',
      'ARRAY[NULL, NULL]::bytea[]',
      'ARRAY[TEXT, TEXT]::text[]',
      'ARRAY[0, NULL]::int4[]',
      'ARRAY[-1, -1]::int8[]',
      'ARRAY[TEXT, TEXT]::text[]',
    ].join(', '),
  );
});

it('a claim of many keys, or with a partition that is no integer, goes by parameters', () => {
  expect(
    claimLiterals(
      0,
      1,
      'n',
      Array.from({ length: 5 }, () => request()),
    ),
  ).toBeNull();
  expect(claimLiterals(0, 1, 'n', [request('0); DROP TABLE effects' as unknown as number)])).toBeNull();
});
