export { type PostgresOptions, type PostgresService, startPostgres } from './postgres.ts';
export { type PostgresVersion, postgresVersions } from './postgres-versions.ts';
export {
  type RedisClusterService,
  type RedisOptions,
  type RedisService,
  startRedis,
  startRedisCluster,
} from './redis.ts';
export { type RedisSentinelService, startRedisSentinel } from './redis-sentinel.ts';
