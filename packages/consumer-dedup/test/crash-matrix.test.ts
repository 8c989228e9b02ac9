import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, startRedis, startRedisCluster } from '@sendonce/test-services/databases';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crashPoints, type Durability, takeOverAfterCrash } from '../src/testing/index.ts';
import { type CrashStoreName, openCrashStore } from './crash-stores.ts';
import { CREATE_EFFECTS } from './environments/postgres.ts';

interface Service {
  readonly address: string;
  close(): Promise<void>;
}

const stores: readonly { name: CrashStoreName; durability: Durability; start(): Promise<Service> }[] = [
  { name: 'memory', durability: 'memory', start: temporaryFolder },
  { name: 'pglite', durability: 'transaction', start: temporaryFolder },
  {
    name: 'postgres',
    durability: 'transaction',
    async start() {
      const service = await startPostgres();
      const client = new pg.Client(service.url);
      await client.connect();
      await client.query(CREATE_EFFECTS);
      await client.end();
      return { address: service.url, close: () => service.close() };
    },
  },
  {
    name: 'redis',
    durability: 'lease',
    async start() {
      const service = await startRedis();
      return { address: service.url, close: () => service.close() };
    },
  },
  {
    name: 'redis-cluster',
    durability: 'lease',
    async start() {
      const service = await startRedisCluster();
      return { address: JSON.stringify(service.nodes), close: () => service.close() };
    },
  },
];

async function temporaryFolder(): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'sendonce-crash-'));
  return { address: folder, close: async () => rmSync(folder, { recursive: true, force: true }) };
}

/** Starts a consumer process and kills it, with SIGKILL, when it says that it is at the point. */
async function crashAt(
  point: string,
  store: CrashStoreName,
  address: string,
  namespace: string,
  messages: number,
): Promise<void> {
  const worker = join(import.meta.dirname, 'crash-worker.ts');
  const args = [worker, store, address, namespace, point, String(messages)];
  const child = spawn(process.execPath, ['--conditions=@sendonce/source', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await reachedPoint(child);
  child.kill('SIGKILL');
  await ended;
  expect(child.signalCode).toBe('SIGKILL');
}

function reachedPoint(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let errors = '';
    child.stderr!.on('data', (data) => {
      errors += data;
    });
    child.stdout!.on('data', (data) => {
      if (String(data).includes('at the point')) resolve();
    });
    child.once('close', () => reject(new Error(`the process ended before the point: ${errors}`)));
  });
}

for (const { name, durability, start } of stores) {
  describe(`D9: when a process dies, with the ${name} store`, () => {
    let service: Service;
    beforeAll(async () => {
      service = await start();
    });
    afterAll(() => service.close());

    // Where a claim is a lease, keys that are claimed together share it.
    for (const messages of durability === 'lease' ? [1, 3] : [1]) {
      for (const point of crashPoints) {
        const { effects, outcome, why } = point.holds[durability];
        const title = `${point.name}: ${outcome} by the next one, ${effects === 1 ? 'one effect' : `${effects} effects`}`;
        it(`${messages === 1 ? title : `a batch, ${title}`} (${why})`, async () => {
          const namespace = `crash-${point.id}-${messages}`;
          await crashAt(point.id, name, service.address, namespace, messages);
          const next = await openCrashStore(name, service.address);
          try {
            const effect = next.effect;
            const seen = await takeOverAfterCrash({
              store: next.store,
              namespace,
              messages,
              effect: (context) => effect(context, namespace),
            });
            expect(seen.map(({ status }) => status)).toEqual(new Array(messages).fill(outcome));
            expect(await next.effects(namespace)).toBe(effects * messages);
          } finally {
            await next.close();
          }
        });
      }
    }
  });
}
