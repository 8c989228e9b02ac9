export { type PostgresOptions, type PostgresService, startPostgres } from './postgres.ts';
export {
  type RedisClusterService,
  type RedisOptions,
  type RedisService,
  startRedis,
  startRedisCluster,
} from './redis.ts';
