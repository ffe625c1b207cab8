import { METRICS, type MetricDefinition } from './metric-definitions.ts';
import { type MetricFamily, type MetricSample, renderLabels, sampleFamily } from './metric-family.ts';

/** What was read last is no truth about now any more; the gauges of a device are then left out, not repeated. */
const MAX_SAMPLE_AGE_MS = 10_000;

const DEVICE_STATES = ['healthy', 'pressured', 'faulted'] as const;
const MONITOR_STATES = [
  'idle',
  'cpu-only',
  'starting',
  'watching',
  'restarting',
  'unmonitored',
  'stopped',
] as const;

/** One device, as far as it is charted. */
export interface DeviceRow {
  readonly reading: {
    readonly index: number;
    readonly uuid: string;
    readonly name: string;
    readonly memory: { readonly totalBytes: number; readonly usedBytes: number } | undefined;
    readonly busyRatio: number | undefined;
    readonly temperatureCelsius: number | undefined;
    readonly powerWatts: number | undefined;
    readonly powerLimitWatts: number | undefined;
    readonly energyJoules: number | undefined;
    readonly uncorrectedErrors: number | undefined;
  };
  readonly state: { readonly kind: (typeof DEVICE_STATES)[number] };
  readonly pressureRatio: number;
  readonly permits: { readonly limit: number; readonly held: number };
}

/** All devices at one moment; read at scrape time. */
export interface DeviceRows {
  readonly monitor: { readonly kind: (typeof MONITOR_STATES)[number] };
  readonly driver: string | undefined;
  /** Undefined: there was no sample yet. */
  readonly sampleAgeMs: number | undefined;
  readonly devices: readonly DeviceRow[];
  readonly xids: readonly { readonly uuid: string; readonly xid: number; readonly count: number }[];
}

/** Our own names. On a machine without devices: the monitor's state alone. */
export function deviceFamilies(rows: DeviceRows): MetricFamily[] {
  const { monitor, driver, sampleAgeMs, devices, xids } = rows;
  const current = currentDevices(rows);
  const gauge = (definition: MetricDefinition, value: Value, of = current): MetricFamily =>
    sampleFamily(definition, samplesOf(of, 'device', value));
  return [
    sampleFamily(
      METRICS.deviceMonitor,
      MONITOR_STATES.map((state) => sample({ state }, state === monitor.kind ? 1 : 0)),
    ),
    sampleFamily(
      METRICS.deviceSampleAge,
      sampleAgeMs === undefined ? [] : [{ labels: '', value: sampleAgeMs / 1000 }],
    ),
    sampleFamily(
      METRICS.deviceInfo,
      devices.map(({ reading: { uuid, index, name } }) =>
        sample({ device: uuid, index: String(index), name, driver: driver ?? '' }, 1),
      ),
    ),
    sampleFamily(
      METRICS.deviceState,
      devices.flatMap(({ reading, state }) =>
        DEVICE_STATES.map((candidate) =>
          sample({ device: reading.uuid, state: candidate }, candidate === state.kind ? 1 : 0),
        ),
      ),
    ),
    gauge(METRICS.devicePressure, ({ pressureRatio }) => pressureRatio, devices),
    gauge(METRICS.deviceMemoryTotal, ({ reading }) => reading.memory?.totalBytes),
    gauge(METRICS.deviceMemoryUsed, ({ reading }) => reading.memory?.usedBytes),
    gauge(METRICS.deviceUtilization, ({ reading }) => reading.busyRatio),
    gauge(METRICS.deviceTemperature, ({ reading }) => reading.temperatureCelsius),
    gauge(METRICS.devicePower, ({ reading }) => reading.powerWatts),
    gauge(METRICS.devicePowerLimit, ({ reading }) => reading.powerLimitWatts),
    gauge(METRICS.deviceEnergy, ({ reading }) => reading.energyJoules),
    gauge(METRICS.deviceMemoryErrors, ({ reading }) => reading.uncorrectedErrors),
    gauge(METRICS.devicePermits, ({ permits }) => permits.limit, devices),
    gauge(METRICS.devicePermitsHeld, ({ permits }) => permits.held, devices),
    sampleFamily(
      METRICS.deviceXids,
      xids.map(({ uuid, xid, count }) => sample({ device: uuid, xid: String(xid) }, count)),
    ),
  ];
}

/** The names that Triton's dashboards chart, with Triton's units; only with `metrics.compat: [triton]`. */
export function tritonDeviceFamilies(rows: DeviceRows): MetricFamily[] {
  const current = currentDevices(rows);
  const gauge = (definition: MetricDefinition, value: Value): MetricFamily =>
    sampleFamily(definition, samplesOf(current, 'gpu_uuid', value));
  return [
    gauge(METRICS.tritonGpuUtilization, ({ reading }) => reading.busyRatio),
    gauge(METRICS.tritonGpuMemoryTotal, ({ reading }) => reading.memory?.totalBytes),
    gauge(METRICS.tritonGpuMemoryUsed, ({ reading }) => reading.memory?.usedBytes),
    gauge(METRICS.tritonGpuPower, ({ reading }) => reading.powerWatts),
    gauge(METRICS.tritonGpuPowerLimit, ({ reading }) => reading.powerLimitWatts),
    gauge(METRICS.tritonGpuEnergy, ({ reading }) => reading.energyJoules),
  ];
}

type Value = (row: DeviceRow) => number | undefined;

function currentDevices({ devices, sampleAgeMs }: DeviceRows): readonly DeviceRow[] {
  return sampleAgeMs !== undefined && sampleAgeMs <= MAX_SAMPLE_AGE_MS ? devices : [];
}

/** A value that can't be read is no series: 0 would be charted as a fact. */
function samplesOf(devices: readonly DeviceRow[], label: string, value: Value): MetricSample[] {
  return devices.flatMap((row) => {
    const read = value(row);
    return read === undefined ? [] : [sample({ [label]: row.reading.uuid }, read)];
  });
}

function sample(labels: Readonly<Record<string, string>>, value: number): MetricSample {
  return { labels: renderLabels(labels), value };
}
