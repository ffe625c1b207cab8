import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../base/random.ts';
import type { DeviceCondition } from './device-condition.ts';
import { DeviceFleet } from './device-fleet.ts';
import { aCondition, withFree } from './testing/condition.ts';

const OTHER = aCondition({ uuid: 'GPU-b', index: 1, memory: { totalBytes: 1000, freeBytes: 900 } });

function aFleet(...conditions: readonly DeviceCondition[]): DeviceFleet<DeviceCondition> {
  const fleet = new DeviceFleet<DeviceCondition>({ random: new SeededRandom(1) });
  fleet.observe(conditions, 0);
  return fleet;
}

describe('DeviceFleet', () => {
  it('tells whose state has changed, and gives no permits of a faulted device', () => {
    const fleet = aFleet(aCondition(), OTHER);
    expect(fleet.observe([aCondition({ xids: [79] }), OTHER], 1)).toEqual([
      { uuid: 'GPU-a', index: 0, from: 'healthy', to: 'faulted', because: 'the driver reported Xid 79' },
    ]);
    expect(fleet.device('GPU-a')?.permits.limit).toBe(0);
    expect(fleet.device('GPU-b')?.permits.limit).toBe(1);
    expect(fleet.pressureRatio).toBe(1);
  });

  it('places on the device with the most room that works', () => {
    const fleet = aFleet(aCondition(), OTHER);
    expect(fleet.place({ neededBytes: 100 })).toMatchObject({ kind: 'device', uuid: 'GPU-b' });
    const use = (uuid: string) => (uuid === 'GPU-b' ? { reservedBytes: 600 } : {});
    expect(fleet.place({ neededBytes: 100 }, use)).toMatchObject({ kind: 'device', uuid: 'GPU-a' });
    fleet.observe([aCondition(), { ...OTHER, lost: true }], 1);
    expect(fleet.place({ neededBytes: 100 })).toMatchObject({ kind: 'device', uuid: 'GPU-a' });
  });

  it('keeps a device that vanished as faulted, under its own name although indexes move', () => {
    const fleet = aFleet(aCondition(), OTHER);
    fleet.observe([{ ...OTHER, index: 0 }], 1);
    expect(fleet.views().map(({ reading, state }) => [reading.uuid, state.kind])).toEqual([
      ['GPU-a', 'faulted'],
      ['GPU-b', 'healthy'],
    ]);
  });

  it('measures permits by the memory that is free and what our runners use again', () => {
    const fleet = aFleet(withFree(500));
    fleet.device('GPU-a')?.permits.measured(100);
    expect(fleet.views()[0]?.permits).toEqual({ limit: 4, held: 0 });
    fleet.observe([withFree(500)], 1, () => ({ reusableBytes: 200 }));
    expect(fleet.views()[0]?.permits.limit).toBe(6);
  });

  it('works on without its monitor: no pressure, one permit each', () => {
    const fleet = aFleet(withFree(10));
    fleet.device('GPU-a')?.permits.measured(1);
    expect(fleet.unmonitored(1)).toMatchObject([{ from: 'pressured', to: 'healthy' }]);
    expect(fleet.views()[0]).toMatchObject({ pressureRatio: 0, permits: { limit: 1 } });
  });

  it('lets permits follow a fault that runs have told', () => {
    const fleet = aFleet(aCondition());
    for (let run = 0; run < 3; run += 1) fleet.device('GPU-a')?.health.ran({ kind: 'failed' }, 1);
    fleet.settle('GPU-a');
    expect(fleet.device('GPU-a')?.permits.limit).toBe(0);
  });

  it('keeps a bounded number of devices', () => {
    const many = Array.from({ length: 100 }, (_, index) => aCondition({ index, uuid: `GPU-${index}` }));
    expect(aFleet(...many).views()).toHaveLength(64);
  });
});
