import { describe, expect, it } from 'vitest';
import { judge, type RunEnd, type RunEndCause, type VerdictKind } from './verdict.ts';

function alone(cause: RunEndCause): RunEnd {
  return { cause, alone: true };
}

function together(cause: RunEndCause): RunEnd {
  return { cause, alone: false };
}

function verdict(...ends: RunEnd[]): VerdictKind {
  return judge({ ends, repeatable: true }).kind;
}

describe('judge', () => {
  const cases: [string, RunEnd[], VerdictKind][] = [
    ['a crash in company: neighbours may be innocent', [together('crashed')], 'run-alone'],
    ['a first crash alone may be bad luck', [alone('crashed')], 'run-alone'],
    ['a crash alone after one in company', [together('crashed'), alone('crashed')], 'poison'],
    ['two crashes alone', [alone('crashed'), alone('crashed')], 'poison'],
    ['two crashes in company prove nothing', [together('crashed'), together('crashed')], 'run-alone'],
    ['a SIGKILL from outside', [together('killed')], 'run-again'],
    ['a SIGKILL from outside, alone by chance', [alone('killed')], 'run-again'],
    ['a second SIGKILL', [together('killed'), together('killed')], 'run-alone'],
    ['two SIGKILLs, one alone', [together('killed'), alone('killed')], 'run-alone'],
    ['a third SIGKILL, alone', [together('killed'), together('killed'), alone('killed')], 'poison'],
    ['an OOM kill in company', [together('oom-killed')], 'run-alone'],
    ['an OOM kill alone after one in company', [together('oom-killed'), alone('oom-killed')], 'run-alone'],
    ['a third OOM kill', [together('oom-killed'), alone('oom-killed'), alone('oom-killed')], 'poison'],
    ['a SIGKILL after a crash', [together('crashed'), alone('killed')], 'run-alone'],
    [
      'a crash after a crash and a SIGKILL',
      [together('crashed'), alone('killed'), alone('crashed')],
      'poison',
    ],
    ['a crash after a SIGKILL', [together('killed'), alone('crashed')], 'run-alone'],
    ['a hang in company', [together('hung')], 'run-alone'],
    ['two hangs: the machine may stand still', [together('hung'), alone('hung')], 'run-alone'],
    ['a third hang, alone', [together('hung'), alone('hung'), alone('hung')], 'poison'],
    ['out of memory in company', [together('out-of-memory')], 'run-again'],
    ['out of memory alone', [alone('out-of-memory')], 'run-alone'],
    ['out of memory alone, twice', [alone('out-of-memory'), alone('out-of-memory')], 'give-up'],
    ['stopped by the host', [together('stopped')], 'run-again'],
    ['stopped by the host while under suspicion', [together('crashed'), alone('stopped')], 'run-alone'],
    ['stopped by the host so often', Array<RunEnd>(4).fill(together('stopped')), 'give-up'],
    ['company so often that nothing is proven', Array<RunEnd>(4).fill(together('crashed')), 'give-up'],
    ['out of memory in company so often', Array<RunEnd>(4).fill(together('out-of-memory')), 'give-up'],
  ];

  for (const [what, ends, kind] of cases) {
    it(`says ${kind} for ${what}`, () => expect(verdict(...ends)).toBe(kind));
  }

  it('never runs again, and never blames, what is declared not repeatable', () => {
    for (const cause of ['crashed', 'hung', 'killed', 'oom-killed', 'out-of-memory', 'stopped'] as const) {
      expect(judge({ ends: [together(cause)], repeatable: false }).kind).toBe('give-up');
    }
  });

  it('says why', () => {
    expect(judge({ ends: [together('crashed'), alone('crashed')], repeatable: true }).because).toBe(
      '2 runs of it ended with a crash, the last of them alone in its runner',
    );
  });
});
