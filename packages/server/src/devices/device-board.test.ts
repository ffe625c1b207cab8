import { performance } from 'node:perf_hooks';
import { SeededRandom } from '@gimbal/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeviceBoard, type DeviceChange, type DeviceView, type FleetPort } from './device-board.ts';
import type { DeviceReading } from './device-reading.ts';
import { COMPILER, FakeNvml } from './testing/fake-nvml.ts';

/** A fleet that calls a device with an error faulted; the real one is core's. */
class PlainFleet implements FleetPort {
  #views: readonly DeviceView[] = [];

  observe(readings: readonly DeviceReading[]): DeviceChange[] {
    this.#views = readings.map((reading) => ({
      reading,
      state: { kind: reading.xids.length > 0 ? 'faulted' : 'healthy' },
      pressureRatio: 0,
      permits: { limit: 1, held: 0 },
    }));
    return this.#views
      .filter(({ state }) => state.kind === 'faulted')
      .map(({ reading: { uuid, index } }) => ({
        uuid,
        index,
        from: 'healthy',
        to: 'faulted',
        because: 'an Xid',
      }));
  }

  unmonitored(): DeviceChange[] {
    return [{ uuid: 'all', index: -1, from: 'pressured', to: 'healthy', because: 'unmonitored' }];
  }

  views(): readonly DeviceView[] {
    return this.#views;
  }
}

const watch = {
  clock: { now: () => performance.now(), wallTimeMs: () => 0 },
  random: new SeededRandom(1),
  environment: {},
  limits: { intervalMs: 20, tickMs: 20 },
};

it('A board without a driver says so, and has no devices', () => {
  const board = new DeviceBoard({
    watch: { ...watch, places: { library: '/nowhere/libnvidia-ml.so.1' } },
    fleet: new PlainFleet(),
    runners: () => [],
  });
  board.start();
  expect(board.status()).toMatchObject({
    monitor: { kind: 'cpu-only' },
    sampleAgeMs: undefined,
    devices: [],
    xids: [],
  });
});

describe.skipIf(COMPILER === undefined)('A board on a driver', () => {
  let fake: FakeNvml;
  let board: DeviceBoard;
  beforeEach(() => {
    fake = new FakeNvml('devices 2', 'processes 1');
  });
  afterEach(async () => {
    await board.stop();
    fake.remove();
  });

  it('shows samples, runners by device and by process, and counts errors', async () => {
    const variants = [
      { variant: 'by-index', view: { device: 'cuda:1', pid: 5 } },
      { variant: 'by-uuid', view: { device: 'cuda:GPU-fake-1', pid: 6 } },
      { variant: 'by-process', view: { device: 'unknown', pid: 1000 } },
      { variant: 'on-the-cpu', view: { device: 'cpu', pid: 7 } },
    ];
    const change = await new Promise<DeviceChange>((resolve) => {
      board = new DeviceBoard({
        watch: { ...watch, places: { library: fake.library } },
        fleet: new PlainFleet(),
        runners: () => variants.map((runner) => ({ model: 'digits', version: '1', ...runner })),
        onChange: resolve,
        onMonitor: ({ kind }) => {
          if (kind === 'watching') fake.set('devices 2', 'processes 1', 'xid 1 1 79');
        },
      });
      board.start();
    });
    expect(change.uuid).toBe('GPU-fake-1');
    const status = board.status();
    expect(status).toMatchObject({ monitor: { kind: 'watching' }, source: 'nvml', driver: '570.00.01' });
    expect(status.devices.map(({ runners }) => runners)).toEqual([
      ['digits/1/by-process'],
      ['digits/1/by-index', 'digits/1/by-uuid', 'digits/1/by-process'],
    ]);
    expect(status.xids).toEqual([{ uuid: 'GPU-fake-1', xid: 79, count: 1 }]);
  });
});
