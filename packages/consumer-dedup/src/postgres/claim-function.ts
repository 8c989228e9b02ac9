import { tablesInUse } from './generations.ts';
import type { TableNames } from './names.ts';

/** A key that the function refused. `key` and `fingerprint` are hexadecimal. */
export interface RefusedKey {
  readonly key: string;
  readonly fingerprint: string | null;
  readonly topic: string | null;
  readonly partition: number | null;
  readonly offset: string | null;
  readonly processed_at_ms: number;
  readonly note: string | null;
  readonly result: string | null;
}

/** What the function answers, as JSON. */
export interface ClaimAnswer {
  /** The epoch in force. When it is not the caller's, nothing was done and nothing else is answered. */
  readonly epoch: number;
  /** How many keys were taken. */
  readonly taken: number;
  readonly started_at_ms: number;
  /** Once for each table that a refused key is in; `null` for none. */
  readonly refused: readonly RefusedKey[] | null;
}

const RECORD = `encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result`;

/**
 * The function that claims keys in the epochs of one phase. It checks the epoch, inserts what is in none of the tables, in
 * the order of the keys, and tells what is known of those it refused.
 *
 * A function, since a database keeps the plans of its statements for as long as a connection lives, also behind a PgBouncer
 * that knows nothing of prepared statements; planning took as long as claiming one key. Each look into a table is a subquery
 * of its own (`OFFSET 0` keeps it one) that can only go by the index: a plan made while a table was empty still serves when
 * it holds millions.
 *
 * 1 the caller's epoch, 2 `lock_timeout` for the claim alone, 3 namespace, 4 keys, 5 fingerprints, 6 topics, 7 partitions,
 * 8 offsets, 9 notes. Answers with a {@link ClaimAnswer}: a single value, since rows with many columns cost the client more.
 *
 * What this transaction itself wrote is told from the rest by `xmin`, so it must be called outside any savepoint, and once.
 */
export function claimFunction({ keys, claims, state }: TableNames, phase: number): string {
  const { written, read } = tablesInUse(phase);
  const older = keys[read]!;
  const [first, second] = written.map((table) => keys[table]!) as [string, string?];
  return `CREATE OR REPLACE FUNCTION ${claims[phase]}(bigint, text, text, bytea[], bytea[], text[], integer[], bigint[], text[])
RETURNS json LANGUAGE plpgsql AS $claim$
#variable_conflict use_column
DECLARE
  lock_timeout_before text := current_setting('lock_timeout');
  current_epoch bigint;
  own xid;
  taken bigint;
  refused json;
BEGIN
  SELECT epoch INTO STRICT current_epoch FROM ${state};
  IF current_epoch <> $1 THEN
    RETURN json_build_object('epoch', current_epoch);
  END IF;
  PERFORM set_config('lock_timeout', $2, true);
  own := pg_current_xact_id()::xid;
${insertInto(first, `NOT EXISTS (SELECT FROM ${older} AS older WHERE older.key = given.key AND older.namespace = $3 OFFSET 0)`)}
  GET DIAGNOSTICS taken = ROW_COUNT;
${second === undefined ? '' : takeInBoth(first, second)}  PERFORM set_config('lock_timeout', lock_timeout_before, true);
  IF taken < cardinality($4) THEN
    SELECT json_agg(stored) INTO refused FROM unnest($4) AS given (key) CROSS JOIN LATERAL (
      ${[...written.map((table) => keys[table]!), older].map(recordIn).join('\n      UNION ALL\n      ')}
    ) AS stored;
  END IF;
  RETURN json_build_object('epoch', current_epoch, 'taken', taken, 'started_at_ms', extract(epoch FROM now())::float8 * 1000, 'refused', refused);
END
$claim$;
`;
}

function insertInto(table: string, condition: string): string {
  return `  INSERT INTO ${table} (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE ${condition}
  ORDER BY key
  ON CONFLICT DO NOTHING;`;
}

/** Overlap of two generations: what the first table took must be taken by the second one too, or given back. */
function takeInBoth(first: string, second: string): string {
  const ownIn = (table: string): string =>
    `EXISTS (SELECT FROM ${table} AS mine WHERE mine.key = given.key AND mine.namespace = $3 AND mine.xmin = own OFFSET 0)`;
  return `  DECLARE
    taken_by_both bigint;
  BEGIN
${insertInto(second, ownIn(first))}
    GET DIAGNOSTICS taken_by_both = ROW_COUNT;
    IF taken_by_both < taken THEN
      DELETE FROM ${first} AS given WHERE given.key = ANY ($4) AND given.namespace = $3 AND given.xmin = own AND NOT ${ownIn(second)};
      taken := taken_by_both;
    END IF;
  END;
`;
}

function recordIn(table: string): string {
  return `(SELECT ${RECORD} FROM ${table} AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)`;
}
