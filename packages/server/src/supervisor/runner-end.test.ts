import { describe, expect, it } from 'vitest';
import { lossOf, speaksOfMemory } from './runner-end.ts';

const UNSEEN = { kernelKilled: false, spokeOfMemory: false };
const SIGKILL = { kind: 'signalled', signal: 'SIGKILL' } as const;

describe('The end of a runner is', () => {
  it('a kill from outside by SIGKILL that nobody of ours has sent', () => {
    const { end, error } = lossOf(SIGKILL, UNSEEN);
    expect(end).toEqual({ cause: 'killed' });
    expect(error).toMatchObject({ code: 'RUNNER_CRASHED' });
  });

  it("the kernel's, for want of memory, when its count has grown", () => {
    const { end, error } = lossOf(SIGKILL, { ...UNSEEN, kernelKilled: true });
    expect(end).toEqual({ cause: 'oom-killed', by: 'kernel' });
    expect(error).toMatchObject({ code: 'OUT_OF_MEMORY' });
  });

  it('a crash by any other signal, though the kernel has killed somebody just now', () => {
    const { end } = lossOf({ kind: 'signalled', signal: 'SIGSEGV' }, { ...UNSEEN, kernelKilled: true });
    expect(end).toEqual({ cause: 'crashed', signal: 'SIGSEGV', exitCode: undefined });
  });

  it('a crash by an exit code', () => {
    const { end, error } = lossOf({ kind: 'exited', code: 139 }, UNSEEN);
    expect(end).toEqual({ cause: 'crashed', signal: undefined, exitCode: 139 });
    expect(error.message).toBe('Cannot answer: the model process crashed (exit code 139)');
  });

  it('for want of memory when it aborts and says so', () => {
    const { end } = lossOf({ kind: 'signalled', signal: 'SIGABRT' }, { ...UNSEEN, spokeOfMemory: true });
    expect(end).toEqual({ cause: 'oom-killed', by: 'itself' });
  });
});

it.each([
  ["terminate called after throwing an instance of 'std::bad_alloc'", true],
  ['FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory', true],
  ['Failed to allocate memory for requested buffer of size 4096', true],
  ['a line of the log', false],
])('"%s" speaks of memory: %s', (line, expected) => {
  expect(speaksOfMemory(line)).toBe(expected);
});
