import { describe, expect, it } from 'vitest';
import { WorkQueue } from './queue.ts';
import { aWork } from './testing/a-work.ts';
import type { Work } from './work.ts';

function aQueue(works: readonly Work<string>[], maxRows = 4): WorkQueue<string> {
  const queue = new WorkQueue<string>();
  queue.maxRows = maxRows;
  for (const work of works) queue.push(work);
  return queue;
}

/** Names in the order of service. */
function drained(queue: WorkQueue<string>): string[] {
  return queue.takeAll().map(({ payload }) => payload);
}

describe('WorkQueue', () => {
  it('serves lanes by criticality, and each in order of age', () => {
    const queue = aQueue([
      aWork('s1', { lane: 'sheddable' }),
      aWork('d1'),
      aWork('c1', { lane: 'critical' }),
      aWork('d2'),
      aWork('c2', { lane: 'critical' }),
    ]);
    expect(drained(queue)).toEqual(['c1', 'c2', 'd1', 'd2', 's1']);
  });

  it('lets no bucket starve: the oldest work is first, whatever its bucket', () => {
    const queue = aQueue([
      aWork('x1', { bucket: 'x' }),
      aWork('y1', { bucket: 'y' }),
      aWork('x2', { bucket: 'x' }),
      aWork('z1', { bucket: 'z' }),
      aWork('y2', { bucket: 'y' }),
    ]);
    expect(drained(queue)).toEqual(['x1', 'y1', 'x2', 'z1', 'y2']);
  });

  it('has companions of a bucket from all lanes, the critical ones first', () => {
    const queue = aQueue([
      aWork('s', { lane: 'sheddable', bucket: 'x' }),
      aWork('other', { bucket: 'y' }),
      aWork('d', { bucket: 'x' }),
    ]);
    expect(queue.frontOf('x')?.payload).toBe('d');
    expect(queue.rowsIn('x')).toBe(2);
    expect(queue.frontOf('none')).toBeUndefined();
  });

  it('keeps a work until its last row is taken', () => {
    const work = aWork('large', { rows: 10, splittable: true, bytes: 100 });
    const queue = aQueue([work]);
    expect(queue).toMatchObject({ rows: 10, runs: 3, bytes: 100 });
    work.nextRow = 6;
    queue.took(work, 6);
    expect(queue).toMatchObject({ works: 1, rows: 4, runs: 1, bytes: 100 });
    work.nextRow = 10;
    queue.took(work, 4);
    expect(queue).toMatchObject({ works: 0, rows: 0, runs: 0, bytes: 0, buckets: 0 });
  });

  it('counts a run for each bucket, since their rows are never mixed', () => {
    const queue = aQueue([
      aWork('x', { bucket: 'x' }),
      aWork('y', { bucket: 'y' }),
      aWork('z', { bucket: 'z' }),
    ]);
    expect(queue.runs).toBe(3);
    queue.maxRows = 1;
    queue.push(aWork('x2', { bucket: 'x' }));
    expect(queue.runs).toBe(4);
  });

  it('knows the age and the depth of each lane, and what is before a new work', () => {
    const queue = aQueue([
      aWork('d', { enqueuedAt: 5, rows: 3 }),
      aWork('d2', { enqueuedAt: 6 }),
      aWork('c', { enqueuedAt: 7, lane: 'critical' }),
    ]);
    expect(queue.oldest('default')).toBe(5);
    expect(queue.oldest('sheddable')).toBeUndefined();
    expect([queue.depth('critical'), queue.depth('default'), queue.depth('sheddable')]).toEqual([1, 2, 0]);
    expect([
      queue.rowsBefore('critical'),
      queue.rowsBefore('default'),
      queue.rowsBefore('sheddable'),
    ]).toEqual([1, 5, 5]);
  });

  it('forgets works and buckets that leave, also behind one that stays', () => {
    const queue = aQueue([aWork('stays')]);
    for (let index = 0; index < 10_000; index += 1) {
      const work = aWork('gone', { bucket: `shape ${index}`, bytes: 1 });
      queue.push(work);
      queue.removed(work);
      expect(work).toMatchObject({ list: undefined, older: undefined, younger: undefined });
    }
    expect(queue).toMatchObject({ works: 1, buckets: 1, bytes: 0 });
    expect(drained(queue)).toEqual(['stays']);
  });

  it('lets works leave from anywhere in a list', () => {
    const works = ['a', 'b', 'c', 'd'].map((name) => aWork(name));
    const queue = aQueue(works);
    for (const index of [0, 2, 3]) queue.removed(works[index] as Work<string>);
    queue.push(aWork('e'));
    expect(drained(queue)).toEqual(['b', 'e']);
  });

  it('refuses to let go of what does not wait in it', () => {
    expect(() => aQueue([]).removed(aWork('stranger'))).toThrow(/waits/);
  });
});
