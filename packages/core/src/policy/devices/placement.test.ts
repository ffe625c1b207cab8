import { describe, expect, it } from 'vitest';
import { type PlacementCandidate, placeRunner } from './placement.ts';

function candidate(fields: Partial<PlacementCandidate>): PlacementCandidate {
  return {
    uuid: `GPU-${fields.index ?? 0}`,
    index: 0,
    freeBytes: 1000,
    totalBytes: 1000,
    reservedBytes: 0,
    runners: 0,
    state: 'healthy',
    ...fields,
  };
}

function placed(candidates: readonly Partial<PlacementCandidate>[], neededBytes?: number) {
  const all = candidates.map((fields, index) => candidate({ index, ...fields }));
  const placement = placeRunner(all, { neededBytes });
  return placement.kind === 'device' ? placement.index : placement.because;
}

describe('placeRunner', () => {
  it('takes the device with the most memory left', () => {
    expect(placed([{ freeBytes: 500 }, { freeBytes: 900 }, { freeBytes: 700 }], 100)).toBe(1);
  });

  it('counts what is promised to runners that still load', () => {
    expect(placed([{ freeBytes: 900, reservedBytes: 500 }, { freeBytes: 700 }], 100)).toBe(1);
  });

  it('keeps headroom', () => {
    expect(placed([{ freeBytes: 900 }], 800)).toBe(0);
    expect(placed([{ freeBytes: 900 }], 801)).toMatch(/^no device has room: 801 bytes and headroom/);
  });

  it('prefers a healthy device to a pressured one, and never takes a faulted one', () => {
    expect(placed([{ state: 'pressured' }, { freeBytes: 300 }], 100)).toBe(1);
    expect(placed([{ state: 'pressured' }, { state: 'faulted' }], 100)).toBe(0);
    expect(placed([{ state: 'faulted' }], 100)).toBe('every device is faulted');
  });

  it('takes a device whose memory cannot be read only when no other fits', () => {
    expect(placed([{ freeBytes: undefined }, { freeBytes: 300 }], 100)).toBe(1);
    expect(placed([{ freeBytes: undefined }, { freeBytes: 300 }], 500)).toBe(0);
  });

  it('between equal ones takes the one with fewer runners, then the first', () => {
    expect(placed([{ runners: 2 }, { runners: 1 }, { runners: 1 }])).toBe(1);
  });

  it('takes the CPU where there is nothing else', () => {
    expect(placed([])).toBe('there is no device');
  });
});
