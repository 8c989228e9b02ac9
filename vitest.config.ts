import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const conditions = ['@sendonce/source'];
const storms = ['chaos/test/storm.test.ts', 'apps/payments-demo/test/soak.test.ts'];
/** They wait by the clock, for minutes or for many time-outs, and use little of the machine: three at a time find room on two cores. */
const patient = [
  ...storms,
  'packages/transport-kafka/test/conformance.test.ts',
  'packages/transport-kafka/test/conformance-kafka-3.9.test.ts',
  'packages/consumer-dedup/test/conformance.test.ts',
  'packages/consumer-dedup/test/redis-sentinel.test.ts',
];

/** Brokers and databases take their time, to start most of all. */
const patience = { testTimeout: 120_000, hookTimeout: 180_000 };

/** The storms last longest, so what runs beside them must not run before them. */
class StormsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isStorm = ({ moduleId }: TestSpecification): boolean => storms.some((storm) => moduleId.endsWith(storm));
    return [...sorted.filter(isStorm), ...sorted.filter((file) => !isStorm(file))];
  }
}

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    execArgv: ['--conditions=@sendonce/source'],
    pool: 'forks',
    sequence: { sequencer: StormsFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{packages,apps}/*/{src,examples}/**/*.test.ts', '{scripts,bench,chaos}/**/*.test.ts'],
          exclude: ['**/node_modules/**', '{bench,chaos}/test/**'],
          testTimeout: 30_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Real brokers and databases: one file at a time, after everything else, so that they have the machine to themselves.
        extends: true,
        test: {
          name: 'services',
          include: ['{packages/*,apps/*,bench,chaos}/test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...patient],
          ...patience,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'patient',
          include: patient,
          ...patience,
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
