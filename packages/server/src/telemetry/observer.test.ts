import { describe, expect, it } from 'vitest';
import { observeAll } from './observer.ts';
import { aRecord } from './testing/builders.ts';

describe('observeAll', () => {
  it('tells all observers, also after one that throws, and reports the fault', () => {
    const faults: unknown[] = [];
    const seen: string[] = [];
    const broken = {
      finished: () => {
        throw new Error('bug');
      },
    };
    const good = { finished: (record: { requestId: string }) => void seen.push(record.requestId) };
    observeAll([broken, good], (fault) => faults.push(fault)).finished(aRecord({ requestId: 'r' }));
    expect(seen).toEqual(['r']);
    expect(faults).toHaveLength(1);
  });
});
