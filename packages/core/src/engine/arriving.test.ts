import { describe, expect, it } from 'vitest';
import { Arriving } from './arriving.ts';

describe('Arriving', () => {
  it('counts what is on its way until it has come, once', () => {
    const arriving = new Arriving();
    const one = arriving.add({ lane: 'default', units: 2 }, 0);
    arriving.add({ lane: 'default', units: 3 }, 10);
    expect(arriving.unitsUpTo('default', 20)).toBe(5);
    one.end();
    one.end();
    expect(arriving.unitsUpTo('default', 30)).toBe(3);
  });

  it('does not count less critical calls for critical ones', () => {
    const arriving = new Arriving();
    arriving.add({ lane: 'sheddable', units: 5 }, 0);
    arriving.add({ lane: 'critical', units: 1 }, 0);
    expect(arriving.unitsUpTo('critical', 0)).toBe(1);
    expect(arriving.unitsUpTo('sheddable', 0)).toBe(6);
  });

  it('forgets bodies that take too long, and their end changes nothing', () => {
    const arriving = new Arriving();
    const slow = arriving.add({ lane: 'default', units: 7 }, 0);
    expect(arriving.unitsUpTo('default', 370)).toBe(7);
    expect(arriving.unitsUpTo('default', 420)).toBe(0);
    arriving.add({ lane: 'default', units: 1 }, 430);
    slow.end();
    expect(arriving.unitsUpTo('default', 440)).toBe(1);
    expect(arriving.unitsUpTo('default', 100_000)).toBe(0);
  });
});
