CREATE TABLE IF NOT EXISTS "sendonce_dedup_keys_0" (
  namespace text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  fingerprint bytea,
  topic text,
  partition integer,
  "offset" bigint,
  processed_at timestamptz NOT NULL DEFAULT now(),
  note text,
  result text,
  PRIMARY KEY (namespace, key)
) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);

CREATE TABLE IF NOT EXISTS "sendonce_dedup_keys_1" (
  namespace text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  fingerprint bytea,
  topic text,
  partition integer,
  "offset" bigint,
  processed_at timestamptz NOT NULL DEFAULT now(),
  note text,
  result text,
  PRIMARY KEY (namespace, key)
) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);

CREATE TABLE IF NOT EXISTS "sendonce_dedup_keys_2" (
  namespace text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  fingerprint bytea,
  topic text,
  partition integer,
  "offset" bigint,
  processed_at timestamptz NOT NULL DEFAULT now(),
  note text,
  result text,
  PRIMARY KEY (namespace, key)
) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);

CREATE TABLE IF NOT EXISTS "sendonce_dedup_keys_3" (
  namespace text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  fingerprint bytea,
  topic text,
  partition integer,
  "offset" bigint,
  processed_at timestamptz NOT NULL DEFAULT now(),
  note text,
  result text,
  PRIMARY KEY (namespace, key)
) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);

CREATE TABLE IF NOT EXISTS "sendonce_dedup_epoch_0" ();
CREATE TABLE IF NOT EXISTS "sendonce_dedup_epoch_1" ();

CREATE TABLE IF NOT EXISTS "sendonce_dedup_state" (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  schema_version integer NOT NULL,
  epoch bigint NOT NULL,
  spare_dirty boolean NOT NULL,
  rotated_at timestamptz NOT NULL,
  retention_ms bigint NOT NULL
);

INSERT INTO "sendonce_dedup_state" (schema_version, epoch, spare_dirty, rotated_at, retention_ms)
VALUES (1, 0, false, clock_timestamp(), 604800000)
ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS "sendonce_dedup_offsets" (
  namespace text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  partition integer NOT NULL,
  next_offset bigint NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (namespace, topic, partition)
) WITH (fillfactor = 50);

CREATE OR REPLACE VIEW "sendonce_dedup_keys" AS
SELECT namespace, key, fingerprint, topic, partition, "offset", processed_at, note, result FROM "sendonce_dedup_keys_0"
UNION ALL
SELECT namespace, key, fingerprint, topic, partition, "offset", processed_at, note, result FROM "sendonce_dedup_keys_1"
UNION ALL
SELECT namespace, key, fingerprint, topic, partition, "offset", processed_at, note, result FROM "sendonce_dedup_keys_2"
UNION ALL
SELECT namespace, key, fingerprint, topic, partition, "offset", processed_at, note, result FROM "sendonce_dedup_keys_3";
