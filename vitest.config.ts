import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    reporters: process.env.CI ? ['default', './tools/ci-reporter.ts'] : ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'tools/**/*.test.ts', 'bench/**/*.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['tests/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          // Each system test file starts real servers on two cores: one file at a time keeps them honest.
          fileParallelism: false,
          pool: 'forks',
        },
      },
    ],
  },
});
