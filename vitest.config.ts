import { defineConfig } from 'vitest/config';

const conditions = ['@sendonce/source'];
/** They last for minutes by the clock, and use little of the machine. */
const storms = ['chaos/test/storm.test.ts', 'apps/payments-demo/test/soak.test.ts'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    execArgv: ['--conditions=@sendonce/source'],
    pool: 'forks',
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
          exclude: ['**/node_modules/**', ...storms],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'storms', include: storms, maxWorkers: 2, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
