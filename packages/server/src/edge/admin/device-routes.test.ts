import { describe, expect, it } from 'vitest';
import type { Answer, EdgeRequest, Route } from '../route.ts';
import type { DeviceReport, DeviceReports } from './device-report.ts';
import { deviceRoutes, gpuUtilizationRoute } from './device-routes.ts';

const DEVICE: DeviceReport = {
  reading: {
    index: 0,
    uuid: 'GPU-a',
    name: 'H200',
    memory: { totalBytes: 1000, usedBytes: 250, freeBytes: 750 },
    busyRatio: 0.375,
    memoryBusyRatio: undefined,
    temperatureCelsius: 55,
    slowdownCelsius: undefined,
    powerWatts: 300,
    powerLimitWatts: undefined,
    uncorrectedErrors: 0,
    processes: [{ pid: 7, usedBytes: undefined }],
  },
  state: { kind: 'faulted', because: 'the driver reported Xid 79' },
  pressureRatio: 1,
  permits: { limit: 0, held: 1 },
  runners: ['digits/1/fp32'],
};

function reports(fields: Partial<DeviceReports> = {}): DeviceReports {
  return {
    monitor: { kind: 'watching' },
    source: 'nvml',
    driver: '570.1',
    sampleAgeMs: 12.4,
    devices: [DEVICE],
    ...fields,
  };
}

function answerOf(route: Route | undefined): unknown {
  let body = '';
  const reply = {
    send: (answer: Answer) => {
      body = String(answer.body);
    },
  };
  route?.run({ reply } as unknown as EdgeRequest);
  return JSON.parse(body);
}

describe('GET /admin/v1/devices', () => {
  it('shows readings in base units, what is decided, and null for what is unknown', () => {
    const [route] = deviceRoutes({ devices: () => reports() });
    expect(route?.pattern).toBe('/admin/v1/devices');
    expect(answerOf(route)).toEqual({
      monitor: { state: 'watching', reason: null },
      source: 'nvml',
      driver: '570.1',
      sample_age_ms: 12,
      devices: [
        {
          index: 0,
          uuid: 'GPU-a',
          name: 'H200',
          state: 'faulted',
          because: 'the driver reported Xid 79',
          pressure_ratio: 1,
          memory_total_bytes: 1000,
          memory_used_bytes: 250,
          memory_free_bytes: 750,
          utilization_ratio: 0.375,
          memory_utilization_ratio: null,
          temperature_celsius: 55,
          slowdown_celsius: null,
          power_watts: 300,
          power_limit_watts: null,
          uncorrected_memory_errors: 0,
          processes: [{ pid: 7, used_bytes: null }],
          permits: 0,
          permits_held: 1,
          runners: ['digits/1/fp32'],
        },
      ],
    });
  });

  it('says why there is none', () => {
    const monitor = { kind: 'cpu-only', reason: 'no NVIDIA driver was found' };
    const none = { monitor, source: undefined, driver: undefined, sampleAgeMs: undefined, devices: [] };
    expect(answerOf(deviceRoutes({ devices: () => none })[0])).toEqual({
      monitor: { state: 'cpu-only', reason: 'no NVIDIA driver was found' },
      source: null,
      driver: null,
      sample_age_ms: null,
      devices: [],
    });
  });
});

describe('GET /metrics/gpu-util', () => {
  it('is in percent', () => {
    expect(answerOf(gpuUtilizationRoute({ devices: () => reports() }))).toEqual({
      devices: [
        {
          index: 0,
          uuid: 'GPU-a',
          name: 'H200',
          utilization: 38,
          memory_utilization: null,
          memory_used_bytes: 250,
          memory_total_bytes: 1000,
          temperature_celsius: 55,
        },
      ],
    });
  });

  it('is an empty list without devices', () => {
    expect(answerOf(gpuUtilizationRoute({ devices: () => reports({ devices: [] }) }))).toEqual({
      devices: [],
    });
  });
});
