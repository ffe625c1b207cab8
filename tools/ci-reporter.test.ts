import { afterEach, describe, expect, it, vi } from 'vitest';
import type { TestModule } from 'vitest/node';
import CiReporter from './ci-reporter.ts';

type State = 'passed' | 'failed' | 'skipped' | 'pending';

function aModule(states: readonly State[], errors: readonly unknown[] = []): TestModule {
  const tests = states.map((state) => ({ result: () => ({ state }) }));
  return {
    children: { allTests: () => tests },
    state: () => (errors.length > 0 || states.includes('failed') ? 'failed' : 'passed'),
    errors: () => errors,
  } as unknown as TestModule;
}

function lastLine(modules: readonly TestModule[], unhandled: readonly unknown[] = []): string {
  let text = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  new CiReporter().onTestRunEnd(modules, unhandled);
  vi.restoreAllMocks();
  return text.trimEnd().split('\n').at(-1) ?? '';
}

afterEach(() => void vi.restoreAllMocks());

describe('CiReporter', () => {
  it('counts over all files', () => {
    expect(lastLine([aModule(['passed', 'passed']), aModule(['passed', 'failed'])])).toBe(
      '3 passed, 1 failed',
    );
  });

  it('names skipped tests only when there are some', () => {
    expect(lastLine([aModule(['passed', 'skipped'])])).toBe('1 passed, 0 failed, 1 skipped');
  });

  it('counts a file that does not load, an unfinished test and a stray error as failures', () => {
    expect(lastLine([aModule([], [new Error('syntax')])])).toBe('0 passed, 1 failed');
    expect(lastLine([aModule(['pending'])])).toBe('0 passed, 1 failed');
    expect(lastLine([aModule(['passed'])], [new Error('unhandled')])).toBe('1 passed, 1 failed');
  });
});
