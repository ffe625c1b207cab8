import { expect, it } from 'vitest';
import { LoadGate } from './load-gate.ts';

it('LoadGate starts as many as its limit, the rest in order as others leave, and leaving twice counts once', () => {
  const gate = new LoadGate(1);
  const started: string[] = [];
  const leaves: (() => void)[] = [];
  for (const name of ['a', 'b', 'c']) {
    gate.enter((leave) => {
      started.push(name);
      leaves.push(leave);
    });
  }
  expect(started).toEqual(['a']);
  leaves[0]?.();
  leaves[0]?.();
  expect(started).toEqual(['a', 'b']);
  leaves[1]?.();
  expect(started).toEqual(['a', 'b', 'c']);
});
