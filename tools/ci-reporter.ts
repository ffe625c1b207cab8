import type { Reporter, TestModule } from 'vitest/node';

/** What continuous integration reads: how many tests passed, failed and were skipped, alone on the last line. */
export default class CiReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
      // A file that does not even load has no tests to count.
      if (module.state() === 'failed' && module.errors().length > 0) counts.failed += 1;
    }
    const failed = counts.failed + counts.pending + unhandledErrors.length;
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
    process.stdout.write(`\n${counts.passed} passed, ${failed} failed${skipped}\n`);
  }
}
