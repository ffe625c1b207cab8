import type { DeviceProcess, DeviceReading, DeviceSample } from './device-reading.ts';

/** Most devices in a sample: four times the largest machine that is sold. */
export const MAX_DEVICES = 64;
/** Most processes told of one device; those with the most memory are kept. */
export const MAX_PROCESSES = 128;
/** Most errors told of one device and sample; a broken device can raise thousands a second. */
export const MAX_XIDS = 32;
/** Longest line between monitor and host, in UTF-16 units: all devices with all processes have room. */
export const MAX_FRAME_LENGTH = 1024 * 1024;

/** One line of the monitor, JSON. */
export type MonitorFrame =
  | ({ readonly kind: 'sample' } & DeviceSample)
  /** A look failed; the next may not. A sign of life all the same. */
  | { readonly kind: 'trouble'; readonly reason: string }
  /** There is nothing to monitor; the monitor ends after it. */
  | { readonly kind: 'cpu-only'; readonly reason: string };

export function writeFrame(frame: MonitorFrame): string {
  return `${JSON.stringify(frame)}\n`;
}

/** Reads a line of the monitor, which may be broken in any way: undefined when it is none of ours. */
export function readFrame(line: string): MonitorFrame | undefined {
  if (line.length > MAX_FRAME_LENGTH) return undefined;
  const frame = parse(line);
  if (!frame) return undefined;
  const { kind, reason } = frame;
  if (kind === 'trouble' || kind === 'cpu-only') {
    return typeof reason === 'string' ? { kind, reason } : undefined;
  }
  return kind === 'sample' ? readSample(frame) : undefined;
}

type Members = Readonly<Record<string, unknown>>;

function parse(line: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

function readSample({ source, driver, devices }: Members): MonitorFrame | undefined {
  if ((source !== 'nvml' && source !== 'nvidia-smi') || !Array.isArray(devices)) return undefined;
  if (devices.length > MAX_DEVICES) return undefined;
  const readings = devices.map(readDevice).filter((reading) => reading !== undefined);
  if (readings.length !== devices.length) return undefined;
  return { kind: 'sample', source, driver: textOf(driver), devices: readings };
}

function readDevice(value: unknown): DeviceReading | undefined {
  const device = (value ?? {}) as Members;
  const { index, uuid, name, lost, xids, processes } = device;
  if (!Number.isInteger(index) || typeof uuid !== 'string' || typeof name !== 'string') return undefined;
  return {
    index: index as number,
    uuid,
    name,
    memory: memoryOf(device.memory),
    busyRatio: amountOf(device.busyRatio),
    memoryBusyRatio: amountOf(device.memoryBusyRatio),
    temperatureCelsius: amountOf(device.temperatureCelsius),
    slowdownCelsius: amountOf(device.slowdownCelsius),
    powerWatts: amountOf(device.powerWatts),
    powerLimitWatts: amountOf(device.powerLimitWatts),
    energyJoules: amountOf(device.energyJoules),
    uncorrectedErrors: amountOf(device.uncorrectedErrors),
    xids: Array.isArray(xids) ? xids.filter(Number.isInteger).slice(0, MAX_XIDS) : [],
    processes: Array.isArray(processes) ? processes.slice(0, MAX_PROCESSES).flatMap(processOf) : undefined,
    lost: lost === true,
  };
}

function memoryOf(value: unknown): DeviceReading['memory'] {
  const { totalBytes, usedBytes, freeBytes } = (value ?? {}) as Members;
  const [total, used, free] = [amountOf(totalBytes), amountOf(usedBytes), amountOf(freeBytes)];
  if (total === undefined || used === undefined || free === undefined) return undefined;
  return { totalBytes: total, usedBytes: used, freeBytes: free };
}

function processOf(value: unknown): DeviceProcess[] {
  const { pid, usedBytes } = (value ?? {}) as Members;
  return Number.isInteger(pid) ? [{ pid: pid as number, usedBytes: amountOf(usedBytes) }] : [];
}

function amountOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
