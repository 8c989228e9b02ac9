/**
 * The deduplicator beside the bare statement, in turns on the same server:
 *
 *   npm run bench:dedup [-- SECONDS_PER_CASE] [-- --curve]
 */
import { startPostgres, startRedis } from '@sendonce/test-services/databases';
import { benchPostgres, curve, retentionCost } from './postgres.ts';
import { benchRedis } from './redis.ts';
import { printRatios, printTable } from './report.ts';

const args = process.argv.slice(2);
const seconds = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 5);

{
  await using service = await startPostgres({
    settings: { fsync: 'on', shared_buffers: '512MB', max_wal_size: '8GB' },
  });
  printRatios('Postgres', await benchPostgres(service.url, seconds));
  printTable('Retention while inserts run', await retentionCost(service.url, seconds));
  if (args.includes('--curve')) printTable('By stored keys', await curve(service.url, seconds));
}
{
  await using service = await startRedis({ own: true });
  printRatios('Redis', await benchRedis(service.url, seconds));
}
