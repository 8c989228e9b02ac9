import { defineConfig } from 'vitest/config';

const conditions = ['@sendonce/source'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['{packages,apps}/*/{src,test,examples}/**/*.test.ts', 'scripts/**/*.test.ts'],
    execArgv: ['--conditions=@sendonce/source'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
});
