import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Guardian, startGuardian } from '../guardian.ts';
import { pickPorts } from '../ports.ts';
import { newServiceFolder } from './account.ts';
import { redisAnswers } from './answers.ts';
import { dockerAnswers, missing, type Program, provideProgram } from './binaries.ts';
import { dockerCommand } from './docker.ts';
import { ServiceProcess } from './service-process.ts';

export interface RedisOptions {
  /** A server of the caller's own, which it may stop: never the one REDIS_URL names. */
  readonly own?: boolean;
  /** Settings beside the defaults, such as `{ 'maxmemory-policy': 'allkeys-lru' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface RedisService {
  /** `redis://HOST:PORT`. */
  readonly url: string;
  /** Ends the server; connections break. */
  stop(): Promise<void>;
  /** Starts it again on the same port, with what its append-only file holds. */
  start(): Promise<void>;
  /** Ends it and removes the data. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface RedisClusterService {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const redisProgram: Program = { name: 'redis-server', aptPackage: 'redis-server', urlVariable: 'REDIS_URL' };
const dockerImage = 'redis:8';
const SLOTS = 16_384;
const CLUSTER_NODES = 3;
const CLUSTER_TIMEOUT_MS = 30_000;

/** A Redis for a test: the one REDIS_URL names, else one that this process starts and that ends with it. */
export async function startRedis({ own = false, settings }: RedisOptions = {}): Promise<RedisService> {
  const there = process.env.REDIS_URL;
  if (there && !own && settings === undefined) return external(there);
  const folder = newServiceFolder('redis');
  const guardian = startGuardian(folder);
  const [port] = (await pickPorts(1)) as [number];
  const redis = redisNode(folder, 'redis', port, guardian, { appendonly: 'yes', appendfsync: 'everysec', ...settings });
  await redis.start();
  const close = async (): Promise<void> => {
    await redis.end('SIGKILL');
    await guardian.release();
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: () => redis.end('SIGTERM'),
    start: () => redis.start(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function external(url: string): RedisService {
  const notOurs = () =>
    Promise.reject(new Error('REDIS_URL names a server that is not ours to stop; ask for an own one.'));
  const nothing = async (): Promise<void> => {};
  return { url, stop: notOurs, start: notOurs, close: nothing, [Symbol.asyncDispose]: nothing };
}

/** Three Redis nodes that form a Cluster: the ones REDIS_CLUSTER names (`HOST:PORT,HOST:PORT`), else ones that this process starts. */
export async function startRedisCluster(): Promise<RedisClusterService> {
  const there = process.env.REDIS_CLUSTER;
  if (there) {
    const nodes = there.split(',').map((address) => {
      const [host = '', port] = address.trim().split(':');
      return { host, port: Number(port) };
    });
    return { nodes, close: async () => {}, [Symbol.asyncDispose]: async () => {} };
  }
  const folder = newServiceFolder('redis-cluster');
  const guardian = startGuardian(folder);
  const ports = await pickPorts(2 * CLUSTER_NODES);
  const nodePorts = ports.slice(0, CLUSTER_NODES);
  const processes = nodePorts.map((port, index) =>
    redisNode(folder, `node-${index}`, port, guardian, {
      'cluster-enabled': 'yes',
      'cluster-port': String(ports[CLUSTER_NODES + index]),
      'cluster-node-timeout': '2000',
    }),
  );
  await Promise.all(processes.map((one) => one.start()));
  await formCluster(nodePorts, ports.slice(CLUSTER_NODES));
  const close = async (): Promise<void> => {
    await Promise.all(processes.map((one) => one.end('SIGKILL')));
    await guardian.release();
  };
  return { nodes: nodePorts.map((port) => ({ host: '127.0.0.1', port })), close, [Symbol.asyncDispose]: close };
}

/** One server, not started yet, with its data in a folder of its own. */
export function redisNode(
  folder: string,
  name: string,
  port: number,
  guardian: Guardian,
  settings: Readonly<Record<string, string>>,
): ServiceProcess {
  const data = join(folder, name);
  mkdirSync(data);
  const all = { bind: '127.0.0.1', port: String(port), dir: data, save: '', 'protected-mode': 'no', ...settings };
  const args = Object.entries(all).flatMap(([setting, value]) => [`--${setting}`, value]);
  const base = { name, folder, guardian, answers: () => redisAnswers(port) };
  const found = provideProgram(redisProgram);
  if (found !== null) return new ServiceProcess({ ...base, program: found, args });
  const clustered = 'cluster-enabled' in settings;
  if (clustered || !dockerAnswers()) throw missing(redisProgram);
  const inContainer = Object.entries({ 'protected-mode': 'no', save: "''", ...settings });
  const server = ['redis-server', ...inContainer.flatMap(([setting, value]) => [`--${setting}`, value])];
  return new ServiceProcess({ ...base, ...dockerCommand(dockerImage, 6379, port, {}, server) });
}

async function formCluster(ports: readonly number[], busPorts: readonly number[]): Promise<void> {
  const clients = ports.map((port) => new Redis({ host: '127.0.0.1', port }));
  try {
    const share = Math.ceil(SLOTS / ports.length);
    for (const [index, client] of clients.entries()) {
      const last = Math.min(SLOTS, (index + 1) * share) - 1;
      await client.call('CLUSTER', 'ADDSLOTSRANGE', index * share, last);
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      if (index > 0) await client.call('CLUSTER', 'MEET', '127.0.0.1', ports[0]!, busPorts[0]!);
    }
    const deadlineMs = performance.now() + CLUSTER_TIMEOUT_MS;
    for (const client of clients) {
      for (;;) {
        const info = String(await client.call('CLUSTER', 'INFO'));
        if (info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${ports.length}`)) break;
        if (performance.now() > deadlineMs) throw new Error(`The Redis Cluster does not form:\n${info}`);
        await delay(20);
      }
    }
  } finally {
    for (const client of clients) client.disconnect();
  }
}
