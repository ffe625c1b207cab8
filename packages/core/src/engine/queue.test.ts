import { describe, expect, it } from 'vitest';
import { NEVER } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
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
    const before = (lane: Criticality): number =>
      queue.unitsBefore(
        { lane, tenant: '', costClass: 0, deadlineTold: true, urgency: NEVER },
        { units: 1, now: 8 },
      );
    expect([before('critical'), before('default'), before('sheddable')]).toEqual([1, 5, 5]);
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

  it('serves the most urgent work of a flow first', () => {
    const queue = aQueue([
      aWork('late', { deadline: 900 }),
      aWork('soon', { deadline: 100 }),
      aWork('later'),
    ]);
    expect(drained(queue)).toEqual(['soon', 'late', 'later']);
  });

  it('lets nobody be overtaken for ever: a far deadline is as urgent as ten seconds', () => {
    const queue = aQueue([
      aWork('patient', { enqueuedAt: 0 }),
      aWork('young', { enqueuedAt: 9_000, deadline: 10_500 }),
    ]);
    expect(drained(queue)).toEqual(['patient', 'young']);
  });

  it('serves the newest first where a queue stands and nobody said how long to wait', () => {
    const untold = { deadlineTold: false };
    const queue = aQueue([aWork('1', untold), aWork('2', { ...untold, bucket: 'x' }), aWork('3', untold)]);
    queue.setNewestFirst('default', true);
    expect(queue.frontOf('b')?.payload).toBe('3');
    expect(drained(queue)).toEqual(['3', '2', '1']);
    for (const name of ['a', 'b', 'c']) queue.push(aWork(name));
    expect(drained(queue), 'those who said how long they wait keep their turn').toEqual(['a', 'b', 'c']);
  });

  it('shares time by tenants, whatever each of them has waiting', () => {
    const queue = aQueue([]);
    for (let count = 0; count < 100; count += 1) queue.push(aWork('greedy', { tenant: 'greedy' }));
    for (let count = 0; count < 5; count += 1) queue.push(aWork('modest', { tenant: 'modest' }));
    expect(served(queue, 10).filter((name) => name === 'modest')).toHaveLength(5);
  });

  it('shares by cost, not by count', () => {
    const queue = aQueue([]);
    for (let count = 0; count < 100; count += 1) {
      queue.push(aWork('cheap', { tenant: 'one' }));
      const dear = aWork('dear', { tenant: 'other' });
      dear.unitsPerRow = 9;
      queue.push(dear);
    }
    const names = served(queue, 60);
    expect(names.filter((name) => name === 'dear').length).toBeGreaterThanOrEqual(5);
    expect(names.filter((name) => name === 'dear').length).toBeLessThanOrEqual(7);
  });

  it('gives one that comes back from idleness no credit for it', () => {
    const queue = aQueue([]);
    for (let count = 0; count < 200; count += 1) queue.push(aWork('busy', { tenant: 'busy' }));
    served(queue, 100);
    for (let count = 0; count < 100; count += 1) queue.push(aWork('back', { tenant: 'back' }));
    const back = served(queue, 20).filter((name) => name === 'back').length;
    expect(back).toBeGreaterThanOrEqual(9);
    expect(back).toBeLessThanOrEqual(11);
  });

  it('keeps kinds of requests from starving each other within a tenant', () => {
    const queue = aQueue([]);
    for (let count = 0; count < 50; count += 1) {
      const dear = aWork('dear', { costClass: 20 });
      dear.unitsPerRow = 10;
      queue.push(dear);
    }
    for (let count = 0; count < 20; count += 1) queue.push(aWork('cheap', { costClass: 10 }));
    expect(served(queue, 22).filter((name) => name === 'cheap')).toHaveLength(20);
  });

  it('foresees for a new work the share that others take beside it', () => {
    const queue = aQueue([]);
    for (let count = 0; count < 100; count += 1) queue.push(aWork('greedy', { tenant: 'greedy' }));
    const ask = { lane: 'default', costClass: 0, deadlineTold: true, urgency: NEVER } as const;
    expect(queue.unitsBefore({ ...ask, tenant: 'modest' }, { units: 1, now: 0 })).toBe(1);
    expect(queue.unitsBefore({ ...ask, tenant: 'greedy' }, { units: 1, now: 0 })).toBe(100);
  });

  it('foresees only what is due before a new work of the same flow', () => {
    const queue = aQueue([]);
    for (let count = 0; count < 10; count += 1) queue.push(aWork('far', { deadline: 2000 }));
    for (let count = 0; count < 3; count += 1) queue.push(aWork('near', { deadline: 100 }));
    const ask = { lane: 'default', tenant: '', costClass: 0, deadlineTold: true } as const;
    expect(queue.unitsBefore({ ...ask, urgency: 150 }, { units: 1, now: 0 })).toBe(3);
    expect(queue.unitsBefore({ ...ask, urgency: 3000 }, { units: 1, now: 0 })).toBe(13);
  });

  it('counts tenants beyond its bound as one', () => {
    const queue = aQueue([]);
    for (let tenant = 0; tenant < 3000; tenant += 1) queue.push(aWork(`${tenant}`, { tenant: `t${tenant}` }));
    expect(new Set(drained(queue)).size).toBe(3000);
  });
});

/** Names of what is taken next, one work at a time. */
function served(queue: WorkQueue<string>, count: number): string[] {
  const names: string[] = [];
  for (let taken = 0; taken < count; taken += 1) {
    const work = queue.front();
    if (!work) break;
    names.push(work.payload);
    work.nextRow = work.rows;
    queue.took(work, work.rows);
  }
  return names;
}
