import { defineConfig } from 'vitest/config';

const conditions = ['@sendonce/source'];

/** The tests that read the decision files directly: those that a mutant in one of them should turn red. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    execArgv: ['--conditions=@sendonce/source'],
    include: [
      'packages/producer-core/src/sender/*.test.ts',
      'packages/producer-core/src/producer*.test.ts',
      'packages/transport-memory/src/{validation,kafka-vectors,producer-state,worked-example,restart,batch-check,record-walk}.test.ts',
    ],
    testTimeout: 10_000,
  },
});
