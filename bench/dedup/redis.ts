import { createDeduplicator } from '@sendonce/consumer-dedup';
import { redisStore } from '@sendonce/consumer-dedup/redis';
import { Redis } from 'ioredis';
import { freshKey, freshMessages } from './messages.ts';
import { powertoolsSubject } from './powertools.ts';
import type { Comparison } from './report.ts';
import { inTurns, type Subject } from './turns.ts';

const BATCH = 500;
const RETENTION_MS = 600_000;

/**
 * `SET NX PX` alone only claims: it forgets to mark what is done, so a crash loses the message or repeats it. With a second
 * `SET` for the mark it writes as often as ours does, still without a lease, a fence or a check.
 */
export async function benchRedis(url: string, seconds: number): Promise<Comparison[]> {
  const client = new Redis(url);
  const dedup = createDeduplicator({ store: redisStore({ client }), namespace: 'bench', retentionMs: RETENTION_MS });
  const comparisons: Comparison[] = [];
  for (const size of [BATCH, 1]) {
    const ours: Subject = {
      name: 'ours',
      units: size,
      async work() {
        if (size === 1) await dedup.process(freshMessages(1)[0]!, () => undefined);
        else await dedup.processBatch(freshMessages(size), () => undefined);
      },
    };
    const subjects = [
      setSubject(client, 'SET NX PX', size, false),
      setSubject(client, 'SET NX PX, then SET', size, true),
      ours,
      powertoolsSubject(client, size, RETENTION_MS),
    ];
    const [claim, claimAndMark, measured, powertools] = await inTurns(subjects, seconds);
    const name = size === 1 ? 'one message at a time' : `batches of ${size}`;
    comparisons.push({ name: `${name}, beside SET NX PX`, other: claim!, ours: measured! });
    comparisons.push({
      name: `${name}, beside SET NX PX and a SET for the mark`,
      other: claimAndMark!,
      ours: measured!,
    });
    comparisons.push({ name: `${name}, beside Powertools`, other: powertools!, ours: measured! });
  }
  client.disconnect();
  return comparisons;
}

let number = 0;

function setSubject(client: Redis, name: string, size: number, mark: boolean): Subject {
  return {
    name,
    units: size,
    async work() {
      const keys = Array.from({ length: size }, () => `bare:${freshKey(number++)}`);
      const claims = client.pipeline();
      for (const key of keys) claims.set(key, '1', 'PX', RETENTION_MS, 'NX');
      await claims.exec();
      if (!mark) return;
      const marks = client.pipeline();
      for (const key of keys) marks.set(key, 'done', 'PX', RETENTION_MS);
      await marks.exec();
    },
  };
}
