import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_VERDICT_OPTIONS } from './options.ts';
import { judge, type RunEnd, type RunEndCause } from './verdict.ts';

const CAUSES: readonly RunEndCause[] = [
  'crashed',
  'hung',
  'killed',
  'oom-killed',
  'out-of-memory',
  'stopped',
];
const { maxRuns, ownEnds, doubtfulEnds } = DEFAULT_VERDICT_OPTIONS;

/** What a work would meet if it were run so often: causes, and whether it has company when it may have it. */
const fates = fc.array(fc.record({ cause: fc.constantFrom(...CAUSES), company: fc.boolean() }), {
  minLength: maxRuns + 3,
  maxLength: maxRuns + 3,
});

/** Runs a work until it is decided; alone when the verdict before says so. */
function decided(list: readonly { cause: RunEndCause; company: boolean }[]): {
  kind: string;
  ends: RunEnd[];
} {
  const ends: RunEnd[] = [];
  let mustBeAlone = false;
  for (const { cause, company } of list) {
    ends.push({ cause, alone: mustBeAlone || !company });
    const { kind } = judge({ ends, repeatable: true });
    if (kind === 'poison' || kind === 'give-up') return { kind, ends };
    mustBeAlone = kind === 'run-alone';
  }
  return { kind: 'undecided', ends };
}

describe('judge, whatever happens', () => {
  it('comes to an end within the allowed runs', () => {
    fc.assert(
      fc.property(fates, (list) => {
        const { kind, ends } = decided(list);
        expect(kind).not.toBe('undecided');
        expect(ends.length).toBeLessThanOrEqual(maxRuns);
      }),
      { numRuns: 1000 },
    );
  });

  it('blames no work that was never lost alone, and none for a single end', () => {
    fc.assert(
      fc.property(fates, (list) => {
        const { kind, ends } = decided(list);
        if (kind !== 'poison') return;
        const last = ends.at(-1);
        expect(last?.alone).toBe(true);
        const blaming = ends.filter(({ cause }) => cause !== 'stopped' && cause !== 'out-of-memory');
        const crashes = blaming.filter(({ cause }) => cause === 'crashed').length;
        expect(crashes >= ownEnds || blaming.length >= doubtfulEnds).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('finds a poison input that crashes by itself within two restarts, whatever its company', () => {
    fc.assert(
      fc.property(fc.boolean(), (company) => {
        const list = Array.from({ length: maxRuns }, () => ({ cause: 'crashed' as const, company }));
        expect(decided(list)).toMatchObject({ kind: 'poison', ends: { length: 2 } });
      }),
    );
  });

  it('gives every neighbour of a poison input another run', () => {
    fc.assert(
      fc.property(fc.constantFrom<RunEndCause>('crashed', 'hung', 'killed', 'oom-killed'), (cause) => {
        const { kind } = judge({ ends: [{ cause, alone: false }], repeatable: true });
        expect(['run-again', 'run-alone']).toContain(kind);
      }),
    );
  });
});
