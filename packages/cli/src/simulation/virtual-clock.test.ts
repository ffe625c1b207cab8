import { describe, expect, it } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

describe('VirtualClock', () => {
  it('does things in the order of their times, and of planning at one time', () => {
    const clock = new VirtualClock();
    const done: string[] = [];
    for (const [at, name] of [
      [5, 'c'],
      [1, 'a'],
      [5, 'd'],
      [3, 'b'],
    ] as const) {
      clock.at(at, () => done.push(`${name}${clock.now}`));
    }
    expect(clock.next).toBe(1);
    clock.moveTo(3);
    expect(done).toEqual(['a3', 'b3']);
    clock.moveTo(9);
    expect(done).toEqual(['a3', 'b3', 'c9', 'd9']);
    expect(clock.next).toBe(Infinity);
  });

  it('does what is planned for now at once, after what was due', () => {
    const clock = new VirtualClock();
    const done: string[] = [];
    clock.at(1, () => {
      done.push('first');
      clock.after(0, () => done.push('third'));
    });
    clock.at(1, () => done.push('second'));
    clock.moveTo(1);
    expect(done).toEqual(['first', 'second', 'third']);
  });
});
