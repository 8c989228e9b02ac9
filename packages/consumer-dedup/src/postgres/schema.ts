import { claimFunction } from './claim-function.ts';
import { EPOCH_PHASES } from './generations.ts';
import type { TableNames } from './names.ts';

/** Stored beside the data, so that a newer package can tell what it finds. */
export const SCHEMA_VERSION = 1;

/** 7 days, as the deduplicator's default; raised by a deduplicator that asks for more, never lowered. */
const INITIAL_RETENTION_MS = 604_800_000;

/**
 * Everything the store needs, for PostgreSQL 13 and later. Can be run again without harm.
 *
 * The key comes first in its index: it tells rows apart, and nearly all comparisons end with it. Generations are only inserted into and truncated, so vacuuming them would find nothing to do.
 */
export function schemaSql(names: TableNames): string {
  const { keys, view, state, epochs, offsets } = names;
  return `${keys
    .map(
      (table) => `CREATE TABLE IF NOT EXISTS ${table} (
  namespace text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  fingerprint bytea,
  topic text,
  partition integer,
  "offset" bigint,
  processed_at timestamptz NOT NULL DEFAULT now(),
  note text,
  result text,
  PRIMARY KEY (key, namespace)
) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
`,
    )
    .join('\n')}
${epochs.map((table) => `CREATE TABLE IF NOT EXISTS ${table} ();\n`).join('')}
CREATE TABLE IF NOT EXISTS ${state} (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  schema_version integer NOT NULL,
  epoch bigint NOT NULL,
  spare_dirty boolean NOT NULL,
  rotated_at timestamptz NOT NULL,
  retention_ms bigint NOT NULL
);

INSERT INTO ${state} (schema_version, epoch, spare_dirty, rotated_at, retention_ms)
VALUES (${SCHEMA_VERSION}, 0, false, clock_timestamp(), ${INITIAL_RETENTION_MS})
ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS ${offsets} (
  namespace text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  partition integer NOT NULL,
  next_offset bigint NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (namespace, topic, partition)
) WITH (fillfactor = 50);

CREATE OR REPLACE VIEW ${view} AS
${keys.map((table) => `SELECT namespace, key, fingerprint, topic, partition, "offset", processed_at, note, result FROM ${table}`).join('\nUNION ALL\n')};

${Array.from({ length: EPOCH_PHASES }, (_, phase) => claimFunction(names, phase)).join('\n')}`;
}
