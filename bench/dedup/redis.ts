import { createDeduplicator } from '@sendonce/consumer-dedup';
import { redisStore } from '@sendonce/consumer-dedup/redis';
import { Redis } from 'ioredis';
import { freshKey, freshMessages } from './messages.ts';
import type { Comparison } from './report.ts';
import { inTurns } from './turns.ts';

const BATCH = 500;
const RETENTION_MS = 600_000;

/** The bare side claims only: one `SET NX PX` a key. Ours claims, runs the handler and marks as done. */
export async function benchRedis(url: string, seconds: number): Promise<Comparison[]> {
  const client = new Redis(url);
  const dedup = createDeduplicator({ store: redisStore({ client }), namespace: 'bench', retentionMs: RETENTION_MS });
  let number = 0;
  const comparisons: Comparison[] = [];
  for (const size of [BATCH, 1]) {
    const bareSubject = {
      name: 'bare',
      units: size,
      async work() {
        const pipeline = client.pipeline();
        for (let index = 0; index < size; index++)
          pipeline.set(`bare:${freshKey(number++)}`, '1', 'PX', RETENTION_MS, 'NX');
        await pipeline.exec();
      },
    };
    const ourSubject = {
      name: 'ours',
      units: size,
      async work() {
        if (size === 1) await dedup.process(freshMessages(1)[0]!, () => undefined);
        else await dedup.processBatch(freshMessages(size), () => undefined);
      },
    };
    const [bare, ours] = await inTurns([bareSubject, ourSubject], seconds);
    comparisons.push({ name: size === 1 ? 'one message at a time' : `batches of ${size}`, bare: bare!, ours: ours! });
  }
  client.disconnect();
  return comparisons;
}
