/**
 * A consumer process that stays in its handler until it is told to go on, and then says what came of it.
 *
 *   node test/slow-worker.ts REDIS_URL NAMESPACE
 */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { createDeduplicator } from '../src/index.ts';
import { redisStore } from '../src/redis/index.ts';
import { messageOf } from '../src/testing/messages.ts';

const [url, namespace] = process.argv.slice(2) as [string, string];
const dedup = createDeduplicator({ store: redisStore({ client: new Redis(url) }), namespace, leaseMs: 200 });
const outcome = await dedup.process(messageOf('a'), async () => {
  process.stdout.write('in the handler\n');
  await once(process.stdin, 'data');
});
process.stdout.write(`${outcome.status === 'failed' ? `failed: ${outcome.reason}` : outcome.status}\n`);
