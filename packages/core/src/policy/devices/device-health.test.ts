import { describe, expect, it } from 'vitest';
import { DeviceHealth, type DeviceRun } from './device-health.ts';
import { DEFAULT_DEVICE_HEALTH_OPTIONS } from './options.ts';
import { aCondition, withFree } from './testing/condition.ts';

const LONGEST = { next: () => 1 };
const { calmMs, firstProbeMs, maxProbeMs, probeLimitMs } = DEFAULT_DEVICE_HEALTH_OPTIONS;
const FAILED: DeviceRun = { kind: 'failed' };

function finished(durationMs: number, predictedMs?: number): DeviceRun {
  return { kind: 'finished', durationMs, predictedMs };
}

/** A device that three failed runs at the instant 0 have faulted. */
function faulted(): DeviceHealth {
  const health = new DeviceHealth(LONGEST);
  for (let run = 0; run < 3; run += 1) health.ran(FAILED, 0);
  return health;
}

describe('DeviceHealth under pressure', () => {
  it('of memory begins below 5 % free, ends above 10 %, and only after a calm time', () => {
    const health = new DeviceHealth(LONGEST);
    const kinds = [60, 49, 60, 99, 101, 101].map((free, index) => {
      health.observe(withFree(free), index * 1000);
      return health.state.kind;
    });
    expect(kinds).toEqual(['healthy', 'pressured', 'pressured', 'pressured', 'pressured', 'pressured']);
    expect(health.observe(withFree(101), 4000 + calmMs)).toEqual({
      from: 'pressured',
      to: 'healthy',
      because: 'memory and temperature are well again',
    });
  });

  it('does not end between the two thresholds, however long', () => {
    const health = new DeviceHealth(LONGEST);
    health.observe(withFree(49), 0);
    for (const now of [1, calmMs, 3 * calmMs]) health.observe(withFree(60), now);
    expect(health.state.kind).toBe('pressured');
    const hot = new DeviceHealth(LONGEST);
    hot.observe(aCondition({ temperatureCelsius: 87 }), 0);
    for (const now of [1, calmMs, 3 * calmMs]) hot.observe(aCondition({ temperatureCelsius: 82 }), now);
    expect(hot.state.kind).toBe('pressured');
  });

  it('does not end when it came back within the calm time', () => {
    const health = new DeviceHealth(LONGEST);
    health.observe(withFree(10), 0);
    health.observe(withFree(500), 1000);
    health.observe(withFree(10), 2000);
    health.observe(withFree(500), 3000);
    health.observe(withFree(500), 1000 + calmMs);
    expect(health.state.kind).toBe('pressured');
    health.observe(withFree(500), 3000 + calmMs);
    expect(health.state.kind).toBe('healthy');
  });

  it.each([
    [90, 86, 'healthy'],
    [90, 87, 'pressured'],
    [undefined, 84, 'healthy'],
    [undefined, 85, 'pressured'],
  ])('of heat: slowing down at %s °C, %i °C is %s', (slowdownCelsius, temperatureCelsius, kind) => {
    const health = new DeviceHealth(LONGEST);
    health.observe(aCondition({ slowdownCelsius, temperatureCelsius }), 0);
    expect(health.state.kind).toBe(kind);
  });

  it('presses the ladder the more the less room there is, and not at all while healthy', () => {
    const ratios = [500, 99, 40, 20, 0].map((free) => {
      const health = new DeviceHealth(LONGEST);
      health.observe(withFree(10), 0);
      health.observe(withFree(free), 1);
      return health.pressureRatio;
    });
    expect(ratios).toEqual([0, expect.closeTo(0.01), expect.closeTo(0.6), expect.closeTo(0.8), 1]);
    expect(new DeviceHealth(LONGEST).pressureRatio).toBe(0);
    expect(faulted().pressureRatio).toBe(1);
  });

  it('is forgotten when nobody looks any more', () => {
    const health = new DeviceHealth(LONGEST);
    health.observe(withFree(10), 0);
    health.unmonitored(1);
    expect(health.state.kind).toBe('healthy');
    expect(faulted().unmonitored(1)).toBeUndefined();
  });

  it('is none where nothing can be read', () => {
    const health = new DeviceHealth(LONGEST);
    health.observe(aCondition({ memory: undefined, temperatureCelsius: undefined }), 0);
    expect(health.state.kind).toBe('healthy');
  });
});

describe('DeviceHealth is faulted', () => {
  it.each([
    ['an Xid that needs a reset', aCondition({ xids: [13, 79] }), 'the driver reported Xid 79'],
    ['a device that is lost', aCondition({ lost: true }), 'the driver has lost it'],
  ])('by %s', (_, condition, because) => {
    const health = new DeviceHealth(LONGEST);
    expect(health.observe(condition, 5)).toEqual({ from: 'healthy', to: 'faulted', because });
  });

  it('but not by an Xid of an application', () => {
    const health = new DeviceHealth(LONGEST);
    expect(health.observe(aCondition({ xids: [13, 31, 43, 45] }), 0)).toBeUndefined();
  });

  it.each([
    ['failed', [FAILED, FAILED, FAILED], true],
    ['over 500 ms without a profile', [finished(501), finished(501), finished(501)], true],
    [
      'over 500 ms with a quicker profile',
      [finished(501, 200), finished(501, 200), finished(501, 200)],
      true,
    ],
    ['over 5 times the profile', [finished(101, 20), FAILED, finished(101, 20)], true],
    ['of two and a good one', [FAILED, FAILED, finished(5, 5), FAILED, FAILED], false],
    [
      'of a model that is slow by nature',
      [finished(900, 800), finished(900, 800), finished(900, 800)],
      false,
    ],
    ['of a tiny model that waited', [finished(15, 1), finished(15, 1), finished(15, 1)], false],
  ])('by a streak of runs: %s', (_, runs, expected) => {
    const health = new DeviceHealth(LONGEST);
    for (const run of runs) health.ran(run, 0);
    expect(health.state.kind).toBe(expected ? 'faulted' : 'healthy');
  });

  it('and stays so whatever late runs and good readings say', () => {
    const health = faulted();
    health.ran(finished(1, 1), 1);
    health.observe(aCondition(), 2);
    health.observe(aCondition(), 2 + calmMs);
    expect(health.state.kind).toBe('faulted');
  });
});

describe('DeviceHealth comes back', () => {
  it('by two good probes in a row, the first after the delay', () => {
    const health = faulted();
    expect(health.startProbe(firstProbeMs - 1)).toBeUndefined();
    const first = health.startProbe(firstProbeMs) ?? 0;
    expect(health.startProbe(firstProbeMs)).toBeUndefined();
    expect(health.probed(first, true, firstProbeMs + 5)).toBeUndefined();
    const second = health.startProbe(firstProbeMs + 5) ?? 0;
    expect(health.probed(second, true, firstProbeMs + 9)).toMatchObject({ from: 'faulted', to: 'healthy' });
    health.ran(FAILED, firstProbeMs + 10);
    expect(health.state.kind).toBe('healthy');
  });

  it('ever later after probes that failed, up to a limit', () => {
    const health = faulted();
    const delays: number[] = [];
    let now = 0;
    for (let round = 0; round < 8; round += 1) {
      if (health.state.kind !== 'faulted') throw new Error('expected a fault');
      delays.push(health.state.nextProbeAt - now);
      now = health.state.nextProbeAt;
      health.probed(health.startProbe(now) ?? 0, false, now);
    }
    expect(delays.slice(0, 3)).toEqual([firstProbeMs, 2 * firstProbeMs, 4 * firstProbeMs]);
    expect(delays.at(-1)).toBe(maxProbeMs);
  });

  it('although a probe hangs: it has failed after its limit, and its late answer changes nothing', () => {
    const health = faulted();
    const hung = health.startProbe(firstProbeMs) ?? 0;
    expect(health.startProbe(firstProbeMs + probeLimitMs - 1)).toBeUndefined();
    expect(health.startProbe(firstProbeMs + probeLimitMs)).toBeUndefined();
    const later = firstProbeMs + probeLimitMs + 2 * firstProbeMs;
    const next = health.startProbe(later) ?? 0;
    expect(next).toBeGreaterThan(hung);
    health.probed(hung, false, later);
    expect(health.probed(next, true, later)).toBeUndefined();
    expect(health.probed(health.startProbe(later) ?? 0, true, later)).toMatchObject({ to: 'healthy' });
  });

  it('not by probes that are interrupted by another fault', () => {
    const health = faulted();
    health.probed(health.startProbe(firstProbeMs) ?? 0, true, firstProbeMs);
    health.observe(aCondition({ xids: [79] }), firstProbeMs + 1);
    health.probed(health.startProbe(firstProbeMs + 2) ?? 0, true, firstProbeMs + 3);
    expect(health.state.kind).toBe('faulted');
  });
});
