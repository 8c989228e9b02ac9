import { type PostgresVersion, postgresVersions } from '@sendonce/test-services/databases';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { conformanceCases } from '../src/testing/index.ts';
import type { RunningEnvironment } from './environments/environment.ts';
import { postgresOf } from './environments/postgres.ts';

/** The oldest and the newest that are supported; all with `POSTGRES_VERSIONS=all`. */
const versions: readonly PostgresVersion[] =
  process.env.POSTGRES_VERSIONS === 'all' ? postgresVersions : [postgresVersions[0]!, postgresVersions.at(-1)!];

for (const version of versions) {
  const definition = postgresOf(version);
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
