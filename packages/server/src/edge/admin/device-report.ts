/** A device as operators see it; what could not be read is undefined. */
export interface DeviceReport {
  readonly reading: {
    readonly index: number;
    readonly uuid: string;
    readonly name: string;
    readonly memory:
      | { readonly totalBytes: number; readonly usedBytes: number; readonly freeBytes: number }
      | undefined;
    readonly busyRatio: number | undefined;
    readonly memoryBusyRatio: number | undefined;
    readonly temperatureCelsius: number | undefined;
    readonly slowdownCelsius: number | undefined;
    readonly powerWatts: number | undefined;
    readonly powerLimitWatts: number | undefined;
    readonly uncorrectedErrors: number | undefined;
    readonly processes:
      | readonly { readonly pid: number; readonly usedBytes: number | undefined }[]
      | undefined;
  };
  readonly state: { readonly kind: string; readonly because?: string };
  readonly pressureRatio: number;
  readonly permits: { readonly limit: number; readonly held: number };
  /** `model/version/variant` of each of our runners on it. */
  readonly runners: readonly string[];
}

export interface DeviceReports {
  readonly monitor: { readonly kind: string; readonly reason?: string };
  readonly source: string | undefined;
  readonly driver: string | undefined;
  readonly sampleAgeMs: number | undefined;
  readonly devices: readonly DeviceReport[];
}

/** `GET /admin/v1/devices`. */
export function deviceDocument({ monitor, source, driver, sampleAgeMs, devices }: DeviceReports): object {
  return {
    monitor: { state: monitor.kind, reason: monitor.reason ?? null },
    source: source ?? null,
    driver: driver ?? null,
    sample_age_ms: sampleAgeMs === undefined ? null : Math.round(sampleAgeMs),
    devices: devices.map(deviceRow),
  };
}

/** `GET /metrics/gpu-util`: percent, as the tools that ask for it expect. */
export function utilizationDocument({ devices }: DeviceReports): object {
  return {
    devices: devices.map(({ reading }) => ({
      index: reading.index,
      uuid: reading.uuid,
      name: reading.name,
      utilization: percent(reading.busyRatio),
      memory_utilization: percent(reading.memoryBusyRatio),
      memory_used_bytes: reading.memory?.usedBytes ?? null,
      memory_total_bytes: reading.memory?.totalBytes ?? null,
      temperature_celsius: reading.temperatureCelsius ?? null,
    })),
  };
}

function deviceRow({ reading, state, pressureRatio, permits, runners }: DeviceReport): object {
  return {
    index: reading.index,
    uuid: reading.uuid,
    name: reading.name,
    state: state.kind,
    because: state.because ?? null,
    pressure_ratio: pressureRatio,
    memory_total_bytes: reading.memory?.totalBytes ?? null,
    memory_used_bytes: reading.memory?.usedBytes ?? null,
    memory_free_bytes: reading.memory?.freeBytes ?? null,
    utilization_ratio: reading.busyRatio ?? null,
    memory_utilization_ratio: reading.memoryBusyRatio ?? null,
    temperature_celsius: reading.temperatureCelsius ?? null,
    slowdown_celsius: reading.slowdownCelsius ?? null,
    power_watts: reading.powerWatts ?? null,
    power_limit_watts: reading.powerLimitWatts ?? null,
    uncorrected_memory_errors: reading.uncorrectedErrors ?? null,
    processes:
      reading.processes?.map(({ pid, usedBytes }) => ({ pid, used_bytes: usedBytes ?? null })) ?? null,
    permits: permits.limit,
    permits_held: permits.held,
    runners,
  };
}

function percent(ratio: number | undefined): number | null {
  return ratio === undefined ? null : Math.round(ratio * 100);
}
