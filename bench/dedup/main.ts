/**
 * The deduplicator beside the bare statement, in turns on the same server:
 *
 *   npm run bench:dedup [-- [statements] [retention] [curve] [redis] [SECONDS_PER_CASE [MOST_STORED_KEYS]]]
 */
import { startPostgres, startRedis } from '@sendonce/test-services/databases';
import { benchPostgres, curve, retentionCost } from './postgres.ts';
import { benchRedis } from './redis.ts';
import { printRatios, printTable } from './report.ts';

const args = process.argv.slice(2);
const [seconds = 5, mostStored = 1_000_000] = args.map(Number).filter(Number.isFinite);
const names = args.filter((arg) => !Number.isFinite(Number(arg)));
const wanted = (name: string): boolean => names.length === 0 || names.includes(name);

if (wanted('statements') || wanted('retention') || wanted('curve')) {
  await using service = await startPostgres({
    settings: { fsync: 'on', shared_buffers: '1GB', max_wal_size: '8GB', checkpoint_timeout: '30min' },
  });
  const { url } = service;
  if (wanted('statements')) printRatios('Postgres', await benchPostgres(url, seconds));
  if (wanted('retention')) printTable('Retention while inserts run', await retentionCost(url, seconds));
  if (wanted('curve')) printTable('By stored keys, batches of 500', await curve(url, seconds, mostStored));
}
if (wanted('redis')) {
  await using service = await startRedis({ own: true });
  printRatios('Redis', await benchRedis(service.url, seconds));
}
