import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    reporters: process.env.CI ? ['default', './tools/ci-reporter.ts'] : ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          sequence: { groupOrder: 0 },
          include: [
            'packages/*/src/**/*.test.ts',
            'tools/**/*.test.ts',
            'bench/**/*.test.ts',
            'simulation/**/*.test.ts',
          ],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: 'system',
          // After the unit tests, not beside them: real servers on two cores need both.
          sequence: { groupOrder: 1 },
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
