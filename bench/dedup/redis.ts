import { createDeduplicator, type Deduplicator, type LeaseStore } from '@sendonce/consumer-dedup';
import { redisStore } from '@sendonce/consumer-dedup/redis';
import { Redis } from 'ioredis';
import { freshKey, freshMessages } from './messages.ts';
import { powertoolsSubject } from './powertools.ts';
import type { Comparison } from './report.ts';
import { inTurns, type Subject } from './turns.ts';

const BATCH = 500;
const RETENTION_MS = 600_000;

/**
 * `SET NX PX` alone only claims: it forgets to mark what is done, so a crash loses the message or repeats it; and it compares no
 * payloads. Each comparison has its turns for itself, since what else a process did lately is part of what its code costs.
 */
export async function benchRedis(url: string, seconds: number): Promise<Comparison[]> {
  const client = new Redis(url);
  const store = redisStore({ client });
  const full = createDeduplicator({ store, namespace: 'bench', retentionMs: RETENTION_MS });
  const unhashed = createDeduplicator({ store, namespace: 'bench', retentionMs: RETENTION_MS, fingerprint: false });
  const comparisons: Comparison[] = [];
  const compare = async (name: string, ours: Subject, other: Subject): Promise<void> => {
    const [theirs, measured] = await inTurns([other, ours], seconds);
    comparisons.push({ name: `${name}, beside ${other.name}`, other: theirs!, ours: measured! });
  };
  for (const size of [BATCH, 1]) {
    const name = size === 1 ? 'one message at a time' : `batches of ${size}`;
    const ours = dedupSubject(full, size);
    await compare(name, ours, setSubject(client, 'SET NX PX', size, false));
    await compare(
      `${name}, payloads not compared`,
      dedupSubject(unhashed, size),
      setSubject(client, 'SET NX PX', size, false),
    );
    await compare(name, ours, setSubject(client, 'SET NX PX and a SET for the mark', size, true));
    await compare(name, ours, powertoolsSubject(client, size, RETENTION_MS));
  }
  client.disconnect();
  return comparisons;
}

function dedupSubject(dedup: Deduplicator<LeaseStore>, size: number): Subject {
  return {
    name: 'ours',
    units: size,
    async work() {
      if (size === 1) await dedup.process(freshMessages(1)[0]!, () => undefined);
      else await dedup.processBatch(freshMessages(size), () => undefined);
    },
  };
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
