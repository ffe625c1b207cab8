import { describe, expect, it } from 'vitest';
import { type DeviceRow, type DeviceRows, deviceFamilies, tritonDeviceFamilies } from './device-metrics.ts';
import { expositionChunks } from './exposition.ts';
import { METRICS } from './metric-definitions.ts';
import type { MetricFamily } from './metric-family.ts';

function aDevice(reading: Partial<DeviceRow['reading']> = {}): DeviceRow {
  return {
    reading: {
      index: 0,
      uuid: 'GPU-a',
      name: 'H200',
      memory: { totalBytes: 1000, usedBytes: 250 },
      busyRatio: 0.5,
      temperatureCelsius: 55,
      powerWatts: 300,
      powerLimitWatts: 700,
      energyJoules: 5000,
      uncorrectedErrors: 0,
      ...reading,
    },
    state: { kind: 'pressured' },
    pressureRatio: 0.25,
    permits: { limit: 4, held: 2 },
  };
}

function rows(fields: Partial<DeviceRows> = {}): DeviceRows {
  return {
    monitor: { kind: 'watching' },
    driver: '570.1',
    sampleAgeMs: 500,
    devices: [aDevice()],
    xids: [{ uuid: 'GPU-a', xid: 79, count: 2 }],
    ...fields,
  };
}

function page(families: MetricFamily[]): string[] {
  return [...expositionChunks(families, 'prometheus')]
    .join('')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

describe('Device metrics', () => {
  it('are in base units, one series a device', () => {
    const lines = page(deviceFamilies(rows()));
    expect(lines).toEqual(
      expect.arrayContaining([
        'gimbal_device_monitor_state{state="watching"} 1',
        'gimbal_device_monitor_state{state="cpu-only"} 0',
        'gimbal_device_sample_age_seconds 0.5',
        'gimbal_device_info{device="GPU-a",index="0",name="H200",driver="570.1"} 1',
        'gimbal_device_state{device="GPU-a",state="pressured"} 1',
        'gimbal_device_state{device="GPU-a",state="healthy"} 0',
        'gimbal_device_pressure_ratio{device="GPU-a"} 0.25',
        'gimbal_device_memory_used_bytes{device="GPU-a"} 250',
        'gimbal_device_utilization_ratio{device="GPU-a"} 0.5',
        'gimbal_device_temperature_celsius{device="GPU-a"} 55',
        'gimbal_device_power_watts{device="GPU-a"} 300',
        'gimbal_device_energy_joules_total{device="GPU-a"} 5000',
        'gimbal_device_permits{device="GPU-a"} 4',
        'gimbal_device_permits_held{device="GPU-a"} 2',
        'gimbal_device_xid_errors_total{device="GPU-a",xid="79"} 2',
      ]),
    );
  });

  it('have no series for what cannot be read', () => {
    const lines = page(
      deviceFamilies(rows({ devices: [aDevice({ busyRatio: undefined, memory: undefined })] })),
    );
    expect(lines.filter((line) => /utilization|memory_(used|total)/.test(line))).toEqual([]);
    expect(lines).toContain('gimbal_device_temperature_celsius{device="GPU-a"} 55');
  });

  it.each([10_001, undefined])('leave old readings out (%s ms), and keep what was decided', (sampleAgeMs) => {
    const lines = page(deviceFamilies(rows({ sampleAgeMs, monitor: { kind: 'unmonitored' } })));
    expect(lines.some((line) => line.startsWith('gimbal_device_temperature'))).toBe(false);
    expect(lines).toContain('gimbal_device_permits{device="GPU-a"} 4');
    expect(lines).toContain('gimbal_device_monitor_state{state="unmonitored"} 1');
    expect(page(tritonDeviceFamilies(rows({ sampleAgeMs })))).toEqual([]);
  });

  it('are the monitor’s state alone where there is no device', () => {
    const none = rows({ monitor: { kind: 'cpu-only' }, sampleAgeMs: undefined, devices: [], xids: [] });
    const lines = page(deviceFamilies(none));
    expect(lines.every((line) => line.startsWith('gimbal_device_monitor_state'))).toBe(true);
  });

  it('have Triton’s names and units too', () => {
    expect(page(tritonDeviceFamilies(rows()))).toEqual([
      'nv_gpu_utilization{gpu_uuid="GPU-a"} 0.5',
      'nv_gpu_memory_total_bytes{gpu_uuid="GPU-a"} 1000',
      'nv_gpu_memory_used_bytes{gpu_uuid="GPU-a"} 250',
      'nv_gpu_power_usage{gpu_uuid="GPU-a"} 300',
      'nv_gpu_power_limit{gpu_uuid="GPU-a"} 700',
      'nv_energy_consumption{gpu_uuid="GPU-a"} 5000',
    ]);
  });

  it('are all defined in the table, each once', () => {
    const families = [...deviceFamilies(rows()), ...tritonDeviceFamilies(rows())];
    const names = families.map(({ definition }) => definition.name);
    expect(new Set(names).size).toBe(names.length);
    const defined = Object.values(METRICS).map(({ name }) => name);
    expect(defined.filter((name) => /^(gimbal_device|nv_gpu|nv_energy)/.test(name)).sort()).toEqual(
      names.sort(),
    );
  });
});
