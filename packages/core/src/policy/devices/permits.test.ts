import { describe, expect, it } from 'vitest';
import { DevicePermits } from './permits.ts';

function permitsFor(room: Parameters<DevicePermits['observe']>[0], peakBytes: number): DevicePermits {
  const permits = new DevicePermits();
  permits.observe(room);
  permits.measured(peakBytes);
  return permits;
}

describe('DevicePermits', () => {
  it.each([
    [{ freeBytes: 1000 }, 100, 8],
    [{ freeBytes: 1000 }, 101, 7],
    [{ freeBytes: 1000, reusableBytes: 200 }, 100, 10],
    [{ freeBytes: 50 }, 100, 1],
    [{ freeBytes: 0 }, 100, 1],
    [{ freeBytes: undefined }, 100, 1],
    [{ freeBytes: 1e12 }, 1, 64],
  ])('of %j with a peak of %i bytes are %i', (room, peakBytes, limit) => {
    expect(permitsFor(room, peakBytes).limit).toBe(limit);
  });

  it('are one until a batch was measured, and follow the largest', () => {
    const permits = new DevicePermits();
    permits.observe({ freeBytes: 1000 });
    expect(permits.limit).toBe(1);
    permits.measured(100);
    permits.measured(50);
    permits.measured(Number.NaN);
    permits.measured(-1);
    expect(permits.limit).toBe(8);
    permits.forgetPeak();
    expect(permits.limit).toBe(1);
  });

  it('are none while the device does not work; those held stay with their holders', () => {
    const permits = permitsFor({ freeBytes: 1000 }, 100);
    const held = permits.tryAcquire('a');
    permits.works = false;
    expect(permits.limit).toBe(0);
    expect(permits.tryAcquire('b')).toBeUndefined();
    expect(permits.held).toBe(1);
    permits.works = true;
    if (held) permits.release(held);
    expect(permits.held).toBe(0);
  });

  it('that come back twice count once, and those of a dead runner come back at once', () => {
    const permits = permitsFor({ freeBytes: 1000 }, 100);
    const first = permits.tryAcquire('a');
    permits.tryAcquire('a');
    permits.tryAcquire('b');
    if (first) {
      permits.release(first);
      permits.release(first);
    }
    expect(permits.held).toBe(2);
    permits.releaseAllOf('a');
    expect(permits.held).toBe(1);
  });
});
