import { type RedisSentinelService, startRedisSentinel } from '@sendonce/test-services/databases';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDeduplicator, LeaseLostError } from '../src/index.ts';
import { redisStore } from '../src/redis/index.ts';
import { latch } from '../src/testing/latch.ts';
import { messageOf } from '../src/testing/messages.ts';

let service: RedisSentinelService;
let clients: Redis[];

beforeEach(async () => {
  service = await startRedisSentinel();
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.disconnect();
  await service.close();
});

/** A consumer process with a connection of its own. */
async function consumer() {
  const { sentinels, name } = service;
  const client = new Redis({ sentinels: [...sentinels], name, sentinelRetryStrategy: () => 50 });
  clients.push(client);
  // Connections break here; what matters is what the deduplicator makes of it.
  client.on('error', () => {});
  await client.ping();
  return createDeduplicator({ store: redisStore({ client }), namespace: 'n', storeTimeoutMs: 60_000 });
}

function handler() {
  const running = latch();
  const finish = latch();
  const fences: number[] = [];
  const handle = async (_: unknown, { fence }: { fence: number }): Promise<void> => {
    fences.push(fence);
    running.open();
    await finish.opened;
  };
  return { running, finish, fences, handle };
}

describe('D4: Redis with Sentinel', () => {
  it('a failover while the handler runs changes nothing when the replica had the claim', async () => {
    const dedup = await consumer();
    const { running, finish, handle } = handler();
    const first = dedup.process(messageOf('a'), handle);
    await running.opened;
    await service.replicate();
    await service.failOver();
    finish.open();
    expect((await first).status).toBe('processed');
    expect((await dedup.process(messageOf('a'), () => undefined)).status).toBe('duplicate');
  });

  it('what the replica had not received is forgotten: a mark, so that the handler runs again; a claim, whose holder is told and has the lower fence', async () => {
    const [one, other] = await Promise.all([consumer(), consumer()]);
    await service.cutReplication();
    const marked = messageOf('marked');
    expect((await one.process(marked, () => undefined)).status).toBe('processed');
    expect((await other.process(marked, () => undefined)).status).toBe('duplicate');
    const { running, finish, fences, handle } = handler();
    const claimed = messageOf('claimed');
    const first = one.process(claimed, handle);
    await running.opened;
    await service.failOver();
    expect((await other.process(marked, () => undefined)).status).toBe('processed');
    const second = await other.process(claimed, (_, { fence }) => void fences.push(fence));
    finish.open();
    expect(second.status).toBe('processed');
    expect(fences[1]).toBeGreaterThan(fences[0]!);
    expect(await first).toMatchObject({ status: 'failed', reason: 'lease-lost', error: expect.any(LeaseLostError) });
  });
});
