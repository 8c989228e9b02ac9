import { phaseOf, tablesInUse } from './generations.ts';
import type { TableNames } from './names.ts';

/** The statements of one epoch. */
export interface ClaimStatements {
  /** See `claim-function.ts` for its parameters and its answer. */
  readonly claim: string;
  /** The same with its arguments in the text. */
  claimOf(literals: string): string;
  /** Gives up keys that this transaction inserted, one statement for each table. 1 namespace, 2 keys. */
  readonly forget: readonly string[];
  /** One statement for each table. 1 namespace, 2 keys, 3 results. */
  readonly keepResults: readonly string[];
}

export function claimStatements({ keys, claims }: TableNames, epoch: number): ClaimStatements {
  const written = tablesInUse(epoch).written.map((table) => keys[table]!);
  const claimOf = (args: string): string => `SELECT ${claims[phaseOf(epoch)]}(${args}) AS answer`;
  return {
    claim: claimOf('$1, $2, $3, $4, $5, $6, $7, $8, $9'),
    claimOf,
    forget: written.map((table) => `DELETE FROM ${table} WHERE namespace = $1 AND key = ANY ($2::bytea[])`),
    keepResults: written.map(
      (table) =>
        `UPDATE ${table} AS kept SET result = given.result FROM unnest($2::bytea[], $3::text[]) AS given (key, result) WHERE kept.namespace = $1 AND kept.key = given.key`,
    ),
  };
}

export interface OffsetStatements {
  /** 1 namespace, 2 topics, 3 partitions, 4 next offsets. */
  readonly store: string;
  /** 1 namespace, 2 topics. */
  readonly read: string;
}

export function offsetStatements({ offsets }: TableNames): OffsetStatements {
  return {
    store: `INSERT INTO ${offsets} AS stored (namespace, topic, partition, next_offset)
SELECT $1, * FROM unnest($2::text[], $3::int4[], $4::int8[])
ON CONFLICT (namespace, topic, partition) DO UPDATE SET next_offset = excluded.next_offset, updated_at = now()
WHERE stored.next_offset < excluded.next_offset`,
    read: `SELECT topic, partition, next_offset::text AS next_offset FROM ${offsets} WHERE namespace = $1 AND topic = ANY ($2::text[]) ORDER BY topic, partition`,
  };
}
