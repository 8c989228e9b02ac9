import { createDeduplicator } from '@sendonce/consumer-dedup';
import { postgresStore } from '@sendonce/consumer-dedup/postgres';
import pg from 'pg';
import { freshMessages } from './messages.ts';
import type { Comparison } from './report.ts';
import { inTurns, type Subject } from './turns.ts';

const BATCH = 500;
const INSERT = `INSERT INTO bare (namespace, key, fingerprint, topic, partition, "offset")
SELECT 'bench', * FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::int4[], $5::int8[]) ON CONFLICT DO NOTHING`;
const FINGERPRINT = Buffer.alloc(32, 1);

/** The bare statement has a table like ours: the same columns, the same primary key. */
export async function benchPostgres(url: string, seconds: number): Promise<Comparison[]> {
  const pool = await poolWithTables(url);
  const comparisons: Comparison[] = [];
  for (const size of [BATCH, 1]) {
    const name = size === 1 ? 'one message at a time' : `batches of ${size}`;
    for (const [table, fingerprint] of [
      ['compared', 'value'],
      ['uncompared', false],
    ] as const) {
      const subjects = [bareSubject(pool, size), await ourSubject(pool, size, table, fingerprint)];
      const [bare, ours] = await inTurns(subjects, seconds);
      comparisons.push({
        name: fingerprint === false ? `${name}, payloads not compared` : name,
        other: bare!,
        ours: ours!,
      });
    }
  }
  await pool.end();
  return comparisons;
}

async function poolWithTables(url: string): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  await pool.query(`DROP TABLE IF EXISTS bare, effects; CREATE TABLE bare (namespace text COLLATE "C" NOT NULL, key bytea NOT NULL, fingerprint bytea,
    topic text, partition int, "offset" bigint, processed_at timestamptz NOT NULL DEFAULT now(), note text,
    result text, PRIMARY KEY (key, namespace))`);
  await pool.query('CREATE TABLE effects (name text NOT NULL)');
  return pool;
}

function bareSubject(pool: pg.Pool, size: number): Subject {
  return {
    name: 'bare',
    units: size,
    async work() {
      const messages = freshMessages(size);
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query(INSERT, [
        messages.map(({ headers }) => Buffer.from(headers['idempotency-key'])),
        messages.map(() => FINGERPRINT),
        messages.map(({ topic }) => topic),
        messages.map(({ partition }) => partition),
        messages.map(({ offset }) => String(offset)),
      ]);
      await client.query('INSERT INTO effects VALUES ($1)', ['bare']);
      await client.query('COMMIT');
      client.release();
    },
  };
}

async function ourSubject(
  pool: pg.Pool,
  size: number,
  table: string,
  fingerprint: 'value' | false = 'value',
): Promise<Subject> {
  const store = postgresStore({ pool, table: `${table}_${size}` });
  await store.ensureSchema();
  const dedup = createDeduplicator({ store, namespace: 'bench', fingerprint });
  return {
    name: 'ours',
    units: size,
    async work() {
      const messages = freshMessages(size);
      if (size === 1) {
        await dedup.process(messages[0]!, (_, { client }) => client.query('INSERT INTO effects VALUES ($1)', ['ours']));
      } else {
        await dedup.processBatch(messages, (_, { client }) =>
          client.query('INSERT INTO effects VALUES ($1)', ['ours']).then(() => undefined),
        );
      }
    },
  };
}

/** Inserts at full speed without and with a generation that ends every second; the size must not grow with the generations. */
export async function retentionCost(url: string, seconds: number): Promise<Record<string, string | number>[]> {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  const rows: Record<string, string | number>[] = [];
  for (const [name, retentionMs] of [
    ['a week', 604_800_000],
    ['two seconds', 2000],
  ] as const) {
    const table = `retention_${retentionMs}`;
    const store = postgresStore({ pool, table });
    await store.ensureSchema();
    await pool.query(`UPDATE ${table}_state SET retention_ms = 0`);
    const dedup = createDeduplicator({ store, namespace: 'bench', retentionMs });
    const startMs = performance.now();
    let keys = 0;
    while (performance.now() - startMs < 3 * seconds * 1000) {
      await dedup.processBatch(freshMessages(BATCH), () => undefined);
      keys += BATCH;
    }
    const keysPerSecond = (keys / (performance.now() - startMs)) * 1000;
    const { rows: found } = await pool.query(
      `SELECT (SELECT epoch / 2 FROM ${table}_state)::int AS generations, sum(pg_total_relation_size(c.oid))::float8 / 1048576 AS mib
       FROM pg_class c WHERE c.relname LIKE $1 AND c.relkind = 'r'`,
      [`${table}_keys_%`],
    );
    rows.push({
      retention: name,
      'keys a second': keysPerSecond,
      generations: found[0].generations,
      'keys stored': keys,
      MiB: found[0].mib,
    });
    await dedup.close();
  }
  await pool.end();
  return rows;
}

/**
 * Batches of 500 where ever more keys are stored, put there by the server itself in between: half of them in the generation
 * that is written, half in the older one, and all of them in the bare table.
 */
export async function curve(url: string, seconds: number, most: number): Promise<Record<string, string | number>[]> {
  const pool = await poolWithTables(url);
  const subjects = [bareSubject(pool, BATCH), await ourSubject(pool, BATCH, 'curve')];
  const [written, older] = [`curve_${BATCH}_keys_0`, `curve_${BATCH}_keys_2`] as const;
  const rows: Record<string, string | number>[] = [];
  let from = 0;
  for (const stored of CURVE.filter((one) => one <= most)) {
    await fill(pool, 'bare', from, stored);
    await fill(pool, written, from / 2, stored / 2);
    await fill(pool, older, from / 2, stored / 2);
    from = stored;
    await pool.query('CHECKPOINT');
    const [bare, ours] = await inTurns(subjects, seconds, 0);
    const { rows: size } = await pool.query<{ bytes: number }>(
      `SELECT pg_total_relation_size('${older}')::float8 / (SELECT count(*) FROM ${older}) AS bytes`,
    );
    rows.push({
      'keys stored': stored,
      'bare keys/s': bare!.unitsPerSecond,
      'our keys/s': ours!.unitsPerSecond,
      'share in %': (100 * ours!.unitsPerSecond) / bare!.unitsPerSecond,
      'bytes a key': size[0]!.bytes,
    });
  }
  await pool.end();
  return rows;
}

const CURVE = [10_000, 100_000, 1_000_000, 10_000_000];

async function fill(pool: pg.Pool, table: string, from: number, to: number): Promise<void> {
  await pool.query(
    `INSERT INTO ${table} (namespace, key, fingerprint, topic, partition, "offset")
     SELECT 'bench', convert_to(md5(i::text) || '-${table}', 'UTF8'), sha256('x'), 'payments', 0, i FROM generate_series($1::int, $2::int - 1) i`,
    [from, to],
  );
}
