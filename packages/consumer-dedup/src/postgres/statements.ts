import type { TablesInUse } from './generations.ts';
import type { TableNames } from './names.ts';

/** The statements of one epoch. */
export interface ClaimStatements {
  /**
   * Inserts what is in none of the tables, in the order of the keys. Answers with the keys that were not inserted, and
   * gives the caller's `lock_timeout` back to the transaction, which was changed for this statement alone.
   *
   * 1 namespace, 2 keys, 3 fingerprints, 4 topics, 5 partitions, 6 offsets, 7 notes, 8 lock_timeout.
   */
  readonly claim: string;
  /** In an overlap: the same for the second table, with what the first one took. */
  readonly claimSecond: string | null;
  /** 1 namespace, 2 keys. */
  readonly lookUp: string;
  /** Gives up keys that this transaction inserted, one statement for each table. 1 namespace, 2 keys. */
  readonly forget: readonly string[];
  /** One statement for each table. 1 namespace, 2 keys, 3 results. */
  readonly keepResults: readonly string[];
}

export function claimStatements({ keys }: TableNames, { written, read }: TablesInUse): ClaimStatements {
  const [first, second] = written.map((index) => keys[index]!);
  const older = read.map((index) => keys[index]!);
  const all = [...written.map((index) => keys[index]!), ...older];
  return {
    claim: claimInto(first!, older),
    claimSecond: second === undefined ? null : claimInto(second, []),
    lookUp: all
      .map(
        (table) =>
          `SELECT key, fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM ${table} WHERE namespace = $1 AND key = ANY ($2::bytea[])`,
      )
      .join(' UNION ALL '),
    forget: written.map((index) => `DELETE FROM ${keys[index]} WHERE namespace = $1 AND key = ANY ($2::bytea[])`),
    keepResults: written.map(
      (index) =>
        `UPDATE ${keys[index]} AS kept SET result = given.result FROM unnest($2::bytea[], $3::text[]) AS given (key, result) WHERE kept.namespace = $1 AND kept.key = given.key`,
    ),
  };
}

function claimInto(table: string, older: readonly string[]): string {
  const inNone = older.map((name) => `NOT EXISTS (SELECT FROM ${name} WHERE namespace = $1 AND key = input.key)`);
  return `WITH input AS (
  SELECT * FROM unnest($2::bytea[], $3::bytea[], $4::text[], $5::int4[], $6::int8[], $7::text[]) AS given (key, fingerprint, topic, partition, "offset", note)
), inserted AS (
  INSERT INTO ${table} (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $1, input.* FROM input ${inNone.length === 0 ? '' : `WHERE ${inNone.join(' AND ')}`}
  ORDER BY key
  ON CONFLICT DO NOTHING
  RETURNING key
), refused AS (
  SELECT array_agg(key) AS keys FROM input WHERE NOT EXISTS (SELECT FROM inserted WHERE inserted.key = input.key)
)
SELECT keys, set_config('lock_timeout', $8, true) FROM refused`;
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
