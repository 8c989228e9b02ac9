import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type RedisService, startRedis } from '@sendonce/test-services/databases';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createDeduplicator, type Outcome, StoreUnavailableError } from '../src/index.ts';
import { redisStore } from '../src/redis/index.ts';
import { messageOf, uniqueName } from '../src/testing/messages.ts';

let service: RedisService;
let client: Redis;

beforeAll(async () => {
  service = await startRedis({ own: true });
  client = new Redis(service.url);
  client.on('error', () => {});
});

afterAll(async () => {
  client.disconnect();
  await service.close();
});

function reasonOf(outcome: Outcome): string {
  return outcome.status === 'failed' ? `failed: ${outcome.reason}` : outcome.status;
}

describe('when Redis goes away', () => {
  it('D6: a message is not processed while it is down, and the outcome says why', async () => {
    const dedup = createDeduplicator({
      store: redisStore({ client }),
      namespace: uniqueName('down'),
      storeTimeoutMs: 200,
    });
    await dedup.ready();
    await service.stop();
    try {
      let ran = false;
      const outcome = await dedup.process(messageOf('a'), () => {
        ran = true;
      });
      expect(outcome).toMatchObject({ status: 'failed', reason: 'store', error: { code: 'STORE_UNAVAILABLE' } });
      expect(ran).toBe(false);
    } finally {
      await service.start();
    }
  });

  it('D4: away while the handler runs, back in time: the mark is tried until it is made', async () => {
    const name = uniqueName('back');
    const dedup = createDeduplicator({ store: redisStore({ client }), namespace: name, storeTimeoutMs: 10_000 });
    const outcome = await dedup.process(messageOf('a'), async () => {
      await service.stop();
      setTimeout(() => void service.start(), 150);
    });
    expect(reasonOf(outcome)).toBe('processed');
    expect(reasonOf(await dedup.process(messageOf('a'), () => undefined))).toBe('duplicate');
  });

  it('D4, D9: away for too long: the outcome says that the effect may be repeated', async () => {
    const dedup = createDeduplicator({
      store: redisStore({ client }),
      namespace: uniqueName('gone'),
      storeTimeoutMs: 300,
    });
    await dedup.ready();
    const outcome = await dedup.process(messageOf('a'), () => service.stop());
    await service.start();
    const { error } = outcome as Extract<Outcome, { status: 'failed' }>;
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect((error as StoreUnavailableError).commit).toBe('unknown');
  });

  it('a client that gathers commands by itself, which ioredis then garbles, is refused', () => {
    const own = new Redis(service.url, { lazyConnect: true, enableAutoPipelining: true });
    expect(() => redisStore({ client: own })).toThrow(/enableAutoPipelining/);
    own.disconnect();
  });

  it('a server that has forgotten the scripts is sent them again', async () => {
    const dedup = createDeduplicator({ store: redisStore({ client }), namespace: uniqueName('scripts') });
    await dedup.process(messageOf('a'), () => client.script('FLUSH'));
    await client.script('FLUSH');
    expect(reasonOf(await dedup.process(messageOf('a'), () => undefined))).toBe('duplicate');
  });
});

describe('eviction', () => {
  it('D6: a client that may not sign in, or may do too little, fails its messages, and no error holds its password', async () => {
    await client.call('ACL', 'SETUSER', 'reader', 'on', '>swordfish', '~*', '+@read', '+ping', '+info');
    const { port } = new URL(service.url);
    for (const user of ['reader:swordfish', 'reader:swordfish-too']) {
      const own = new Redis(`redis://${user}@127.0.0.1:${port}`, { lazyConnect: true });
      own.on('error', () => {});
      const dedup = createDeduplicator({ store: redisStore({ client: own }), namespace: 'n' });
      const outcome = await dedup.process(messageOf('a'), () => undefined);
      own.disconnect();
      expect(outcome).toMatchObject({ status: 'failed', reason: 'store', error: { code: 'STORE_SETUP' } });
      expect(inspect(outcome, { depth: 10 })).not.toContain('swordfish');
    }
  });

  it('R8: a policy that can drop keys is refused at start, and messages fail, unless told otherwise', async () => {
    for (const policy of ['allkeys-lru', 'volatile-ttl', 'volatile-lru']) {
      await client.config('SET', 'maxmemory-policy', policy);
      try {
        const refused = createDeduplicator({ store: redisStore({ client }), namespace: uniqueName('evicting') });
        await expect(refused.ready()).rejects.toThrow(policy);
        expect(reasonOf(await refused.process(messageOf('a'), () => undefined))).toBe('failed: store');
        const told = createDeduplicator({
          store: redisStore({ client, allowEviction: true }),
          namespace: uniqueName('told'),
        });
        expect(reasonOf(await told.process(messageOf('a'), () => undefined))).toBe('processed');
      } finally {
        await client.config('SET', 'maxmemory-policy', 'noeviction');
      }
    }
  });

  it('D6: a full server fails messages instead of letting them through', async () => {
    const dedup = createDeduplicator({ store: redisStore({ client }), namespace: uniqueName('full') });
    await dedup.ready();
    await client.config('SET', 'maxmemory', '1');
    try {
      expect(reasonOf(await dedup.process(messageOf('a'), () => undefined))).toBe('failed: store');
    } finally {
      await client.config('SET', 'maxmemory', '0');
    }
    expect(reasonOf(await dedup.process(messageOf('a'), () => undefined))).toBe('processed');
  });
});

describe('clocks and pauses', () => {
  it('D8: a client whose clock is an hour off neither takes a running lease over nor forgets a key', async () => {
    const name = uniqueName('clock');
    const consumer = () =>
      createDeduplicator({
        store: redisStore({ client }),
        namespace: name,
        retentionMs: 600_000,
        onInProgress: 'report',
      });
    const seen: string[] = [];
    const first = await consumer().process(messageOf('a'), async () => {
      for (const offMs of [3_600_000, -3_600_000]) {
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offMs });
        const outcome = await consumer().process(messageOf('a'), () => undefined);
        vi.useRealTimers();
        seen.push(outcome.status);
      }
    });
    expect(reasonOf(first)).toBe('processed');
    expect(seen).toEqual(['in-progress', 'in-progress']);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    const later = await consumer().process(messageOf('a'), () => undefined);
    vi.useRealTimers();
    expect(reasonOf(later)).toBe('duplicate');
  });

  it('D4, R2: a consumer that was frozen for longer than its lease can’t mark what another one processed', async () => {
    const name = uniqueName('frozen');
    const worker = join(import.meta.dirname, 'slow-worker.ts');
    const child = spawn(process.execPath, ['--conditions=@sendonce/source', worker, service.url, name], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    let wake = (): void => {};
    child.stdout.on('data', (data) => {
      lines.push(...String(data).trim().split('\n'));
      wake();
    });
    const line = async (text: string): Promise<void> => {
      while (!lines.includes(text)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    await line('in the handler');
    child.kill('SIGSTOP');
    const takeovers: number[] = [];
    const dedup = createDeduplicator({
      store: redisStore({ client }),
      namespace: name,
      hooks: { onLeaseTakeover: ({ attempt }) => takeovers.push(attempt) },
    });
    const outcome = await dedup.process(messageOf('a'), () => client.incr(`effects:${name}`));
    expect(reasonOf(outcome)).toBe('processed');
    expect(takeovers).toEqual([2]);
    child.kill('SIGCONT');
    child.stdin.write('go on\n');
    await line('failed: lease-lost');
    child.kill('SIGKILL');
    expect(reasonOf(await dedup.process(messageOf('a'), () => undefined))).toBe('duplicate');
  });
});
