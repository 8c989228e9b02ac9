import { startRedis, startRedisCluster } from '@sendonce/test-services/databases';
import { Cluster, Redis } from 'ioredis';
import { redisStore } from '../../src/redis/index.ts';
import type { EnvironmentDefinition, RunningEnvironment } from './environment.ts';

export const redis: EnvironmentDefinition = {
  name: 'Redis',
  kind: 'lease',
  concurrent: true,
  async start() {
    const service = await startRedis();
    const client = new Redis(service.url);
    return redisEnvironment(client, async () => {
      client.disconnect();
      await service.close();
    });
  },
};

export const redisCluster: EnvironmentDefinition = {
  name: 'a Redis Cluster of three nodes',
  kind: 'lease',
  concurrent: true,
  async start() {
    const service = await startRedisCluster();
    const client = new Cluster([...service.nodes], { keyPrefix: 'app:' });
    return redisEnvironment(client, async () => {
      client.disconnect();
      await service.close();
    });
  },
};

function redisEnvironment(client: Redis | Cluster, close: () => Promise<void>): RunningEnvironment {
  const store = () => redisStore({ client });
  return {
    kind: 'lease',
    concurrent: true,
    rounds: 1000,
    store,
    // Retention is each key's own here.
    isolatedStore: async () => store(),
    effect: async (_, name) => {
      await client.incr(`effects:${name}`);
    },
    effects: async (name) => Number((await client.get(`effects:${name}`)) ?? 0),
    close,
  };
}
