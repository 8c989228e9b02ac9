import { afterAll, beforeAll, describe, it } from 'vitest';
import { conformanceCases } from '../src/testing/index.ts';
import type { RunningEnvironment } from './environments/environment.ts';
import { pglite } from './environments/pglite.ts';
import { pgBouncer, postgres } from './environments/postgres.ts';
import { redis, redisCluster } from './environments/redis.ts';

for (const definition of [pglite, postgres, pgBouncer, redis, redisCluster]) {
  describe(`${definition.name} conforms`, () => {
    let environment: RunningEnvironment;
    beforeAll(async () => {
      environment = await definition.start();
    });
    afterAll(() => environment.close());

    for (const { name, rule, run } of conformanceCases.filter((one) => one.applies(definition))) {
      it(`${rule}: ${name}`, () => run(environment));
    }
  });
}
