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
  PRIMARY KEY (key, namespace)
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
  PRIMARY KEY (key, namespace)
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
  PRIMARY KEY (key, namespace)
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
SELECT namespace, key, fingerprint, topic, partition, "offset", processed_at, note, result FROM "sendonce_dedup_keys_2";

CREATE OR REPLACE FUNCTION "sendonce_dedup_claim_0"(bigint, text, text, bytea[], bytea[], text[], integer[], bigint[], text[])
RETURNS json LANGUAGE plpgsql AS $claim$
#variable_conflict use_column
DECLARE
  lock_timeout_before text := current_setting('lock_timeout');
  current_epoch bigint;
  own xid;
  taken bigint;
  refused json;
BEGIN
  SELECT epoch INTO STRICT current_epoch FROM "sendonce_dedup_state";
  IF current_epoch <> $1 THEN
    RETURN json_build_object('epoch', current_epoch);
  END IF;
  PERFORM set_config('lock_timeout', $2, true);
  own := pg_current_xact_id()::xid;
  INSERT INTO "sendonce_dedup_keys_0" (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE NOT EXISTS (SELECT FROM "sendonce_dedup_keys_2" AS older WHERE older.key = given.key AND older.namespace = $3 OFFSET 0)
  ORDER BY key
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS taken = ROW_COUNT;
  PERFORM set_config('lock_timeout', lock_timeout_before, true);
  IF taken < cardinality($4) THEN
    SELECT json_agg(stored) INTO refused FROM unnest($4) AS given (key) CROSS JOIN LATERAL (
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_0" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
      UNION ALL
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_2" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
    ) AS stored;
  END IF;
  RETURN json_build_object('epoch', current_epoch, 'taken', taken, 'started_at_ms', extract(epoch FROM now())::float8 * 1000, 'refused', refused);
END
$claim$;

CREATE OR REPLACE FUNCTION "sendonce_dedup_claim_1"(bigint, text, text, bytea[], bytea[], text[], integer[], bigint[], text[])
RETURNS json LANGUAGE plpgsql AS $claim$
#variable_conflict use_column
DECLARE
  lock_timeout_before text := current_setting('lock_timeout');
  current_epoch bigint;
  own xid;
  taken bigint;
  refused json;
BEGIN
  SELECT epoch INTO STRICT current_epoch FROM "sendonce_dedup_state";
  IF current_epoch <> $1 THEN
    RETURN json_build_object('epoch', current_epoch);
  END IF;
  PERFORM set_config('lock_timeout', $2, true);
  own := pg_current_xact_id()::xid;
  INSERT INTO "sendonce_dedup_keys_0" (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE NOT EXISTS (SELECT FROM "sendonce_dedup_keys_2" AS older WHERE older.key = given.key AND older.namespace = $3 OFFSET 0)
  ORDER BY key
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS taken = ROW_COUNT;
  DECLARE
    taken_by_both bigint;
  BEGIN
  INSERT INTO "sendonce_dedup_keys_1" (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE EXISTS (SELECT FROM "sendonce_dedup_keys_0" AS mine WHERE mine.key = given.key AND mine.namespace = $3 AND mine.xmin = own OFFSET 0)
  ORDER BY key
  ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS taken_by_both = ROW_COUNT;
    IF taken_by_both < taken THEN
      DELETE FROM "sendonce_dedup_keys_0" AS given WHERE given.key = ANY ($4) AND given.namespace = $3 AND given.xmin = own AND NOT EXISTS (SELECT FROM "sendonce_dedup_keys_1" AS mine WHERE mine.key = given.key AND mine.namespace = $3 AND mine.xmin = own OFFSET 0);
      taken := taken_by_both;
    END IF;
  END;
  PERFORM set_config('lock_timeout', lock_timeout_before, true);
  IF taken < cardinality($4) THEN
    SELECT json_agg(stored) INTO refused FROM unnest($4) AS given (key) CROSS JOIN LATERAL (
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_0" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
      UNION ALL
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_1" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
      UNION ALL
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_2" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
    ) AS stored;
  END IF;
  RETURN json_build_object('epoch', current_epoch, 'taken', taken, 'started_at_ms', extract(epoch FROM now())::float8 * 1000, 'refused', refused);
END
$claim$;

CREATE OR REPLACE FUNCTION "sendonce_dedup_claim_2"(bigint, text, text, bytea[], bytea[], text[], integer[], bigint[], text[])
RETURNS json LANGUAGE plpgsql AS $claim$
#variable_conflict use_column
DECLARE
  lock_timeout_before text := current_setting('lock_timeout');
  current_epoch bigint;
  own xid;
  taken bigint;
  refused json;
BEGIN
  SELECT epoch INTO STRICT current_epoch FROM "sendonce_dedup_state";
  IF current_epoch <> $1 THEN
    RETURN json_build_object('epoch', current_epoch);
  END IF;
  PERFORM set_config('lock_timeout', $2, true);
  own := pg_current_xact_id()::xid;
  INSERT INTO "sendonce_dedup_keys_1" (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE NOT EXISTS (SELECT FROM "sendonce_dedup_keys_0" AS older WHERE older.key = given.key AND older.namespace = $3 OFFSET 0)
  ORDER BY key
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS taken = ROW_COUNT;
  PERFORM set_config('lock_timeout', lock_timeout_before, true);
  IF taken < cardinality($4) THEN
    SELECT json_agg(stored) INTO refused FROM unnest($4) AS given (key) CROSS JOIN LATERAL (
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_1" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
      UNION ALL
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_0" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
    ) AS stored;
  END IF;
  RETURN json_build_object('epoch', current_epoch, 'taken', taken, 'started_at_ms', extract(epoch FROM now())::float8 * 1000, 'refused', refused);
END
$claim$;

CREATE OR REPLACE FUNCTION "sendonce_dedup_claim_3"(bigint, text, text, bytea[], bytea[], text[], integer[], bigint[], text[])
RETURNS json LANGUAGE plpgsql AS $claim$
#variable_conflict use_column
DECLARE
  lock_timeout_before text := current_setting('lock_timeout');
  current_epoch bigint;
  own xid;
  taken bigint;
  refused json;
BEGIN
  SELECT epoch INTO STRICT current_epoch FROM "sendonce_dedup_state";
  IF current_epoch <> $1 THEN
    RETURN json_build_object('epoch', current_epoch);
  END IF;
  PERFORM set_config('lock_timeout', $2, true);
  own := pg_current_xact_id()::xid;
  INSERT INTO "sendonce_dedup_keys_1" (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE NOT EXISTS (SELECT FROM "sendonce_dedup_keys_0" AS older WHERE older.key = given.key AND older.namespace = $3 OFFSET 0)
  ORDER BY key
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS taken = ROW_COUNT;
  DECLARE
    taken_by_both bigint;
  BEGIN
  INSERT INTO "sendonce_dedup_keys_2" (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE EXISTS (SELECT FROM "sendonce_dedup_keys_1" AS mine WHERE mine.key = given.key AND mine.namespace = $3 AND mine.xmin = own OFFSET 0)
  ORDER BY key
  ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS taken_by_both = ROW_COUNT;
    IF taken_by_both < taken THEN
      DELETE FROM "sendonce_dedup_keys_1" AS given WHERE given.key = ANY ($4) AND given.namespace = $3 AND given.xmin = own AND NOT EXISTS (SELECT FROM "sendonce_dedup_keys_2" AS mine WHERE mine.key = given.key AND mine.namespace = $3 AND mine.xmin = own OFFSET 0);
      taken := taken_by_both;
    END IF;
  END;
  PERFORM set_config('lock_timeout', lock_timeout_before, true);
  IF taken < cardinality($4) THEN
    SELECT json_agg(stored) INTO refused FROM unnest($4) AS given (key) CROSS JOIN LATERAL (
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_1" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
      UNION ALL
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_2" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
      UNION ALL
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_0" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
    ) AS stored;
  END IF;
  RETURN json_build_object('epoch', current_epoch, 'taken', taken, 'started_at_ms', extract(epoch FROM now())::float8 * 1000, 'refused', refused);
END
$claim$;

CREATE OR REPLACE FUNCTION "sendonce_dedup_claim_4"(bigint, text, text, bytea[], bytea[], text[], integer[], bigint[], text[])
RETURNS json LANGUAGE plpgsql AS $claim$
#variable_conflict use_column
DECLARE
  lock_timeout_before text := current_setting('lock_timeout');
  current_epoch bigint;
  own xid;
  taken bigint;
  refused json;
BEGIN
  SELECT epoch INTO STRICT current_epoch FROM "sendonce_dedup_state";
  IF current_epoch <> $1 THEN
    RETURN json_build_object('epoch', current_epoch);
  END IF;
  PERFORM set_config('lock_timeout', $2, true);
  own := pg_current_xact_id()::xid;
  INSERT INTO "sendonce_dedup_keys_2" (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE NOT EXISTS (SELECT FROM "sendonce_dedup_keys_1" AS older WHERE older.key = given.key AND older.namespace = $3 OFFSET 0)
  ORDER BY key
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS taken = ROW_COUNT;
  PERFORM set_config('lock_timeout', lock_timeout_before, true);
  IF taken < cardinality($4) THEN
    SELECT json_agg(stored) INTO refused FROM unnest($4) AS given (key) CROSS JOIN LATERAL (
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_2" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
      UNION ALL
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_1" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
    ) AS stored;
  END IF;
  RETURN json_build_object('epoch', current_epoch, 'taken', taken, 'started_at_ms', extract(epoch FROM now())::float8 * 1000, 'refused', refused);
END
$claim$;

CREATE OR REPLACE FUNCTION "sendonce_dedup_claim_5"(bigint, text, text, bytea[], bytea[], text[], integer[], bigint[], text[])
RETURNS json LANGUAGE plpgsql AS $claim$
#variable_conflict use_column
DECLARE
  lock_timeout_before text := current_setting('lock_timeout');
  current_epoch bigint;
  own xid;
  taken bigint;
  refused json;
BEGIN
  SELECT epoch INTO STRICT current_epoch FROM "sendonce_dedup_state";
  IF current_epoch <> $1 THEN
    RETURN json_build_object('epoch', current_epoch);
  END IF;
  PERFORM set_config('lock_timeout', $2, true);
  own := pg_current_xact_id()::xid;
  INSERT INTO "sendonce_dedup_keys_2" (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE NOT EXISTS (SELECT FROM "sendonce_dedup_keys_1" AS older WHERE older.key = given.key AND older.namespace = $3 OFFSET 0)
  ORDER BY key
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS taken = ROW_COUNT;
  DECLARE
    taken_by_both bigint;
  BEGIN
  INSERT INTO "sendonce_dedup_keys_0" (namespace, key, fingerprint, topic, partition, "offset", note)
  SELECT $3, given.* FROM unnest($4, $5, $6, $7, $8, $9) AS given (key, fingerprint, topic, partition, "offset", note)
  WHERE EXISTS (SELECT FROM "sendonce_dedup_keys_2" AS mine WHERE mine.key = given.key AND mine.namespace = $3 AND mine.xmin = own OFFSET 0)
  ORDER BY key
  ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS taken_by_both = ROW_COUNT;
    IF taken_by_both < taken THEN
      DELETE FROM "sendonce_dedup_keys_2" AS given WHERE given.key = ANY ($4) AND given.namespace = $3 AND given.xmin = own AND NOT EXISTS (SELECT FROM "sendonce_dedup_keys_0" AS mine WHERE mine.key = given.key AND mine.namespace = $3 AND mine.xmin = own OFFSET 0);
      taken := taken_by_both;
    END IF;
  END;
  PERFORM set_config('lock_timeout', lock_timeout_before, true);
  IF taken < cardinality($4) THEN
    SELECT json_agg(stored) INTO refused FROM unnest($4) AS given (key) CROSS JOIN LATERAL (
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_2" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
      UNION ALL
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_0" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
      UNION ALL
      (SELECT encode(key, 'hex') AS key, encode(fingerprint, 'hex') AS fingerprint, topic, partition, "offset"::text AS "offset", extract(epoch FROM processed_at)::float8 * 1000 AS processed_at_ms, note, result FROM "sendonce_dedup_keys_1" AS stored WHERE stored.key = given.key AND stored.namespace = $3 AND stored.xmin <> own OFFSET 0)
    ) AS stored;
  END IF;
  RETURN json_build_object('epoch', current_epoch, 'taken', taken, 'started_at_ms', extract(epoch FROM now())::float8 * 1000, 'refused', refused);
END
$claim$;
