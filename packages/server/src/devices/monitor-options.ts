import type { DriverPlaces } from './driver-presence.ts';

/** What the monitor is told, as one JSON argument. */
export interface MonitorOptions extends DriverPlaces {
  /** Pause between two samples, in ms. */
  readonly intervalMs: number;
  /** `nvidia-smi` is ended after this, in ms. Shorter than the host's patience with a silent monitor. */
  readonly smiLimitMs: number;
  /** One sample, and the end. */
  readonly once: boolean;
}

export const DEFAULT_MONITOR_OPTIONS: MonitorOptions = {
  intervalMs: 1000,
  smiLimitMs: 4000,
  once: false,
};

export function readMonitorOptions(argument: string | undefined): MonitorOptions {
  const given = argument === undefined ? {} : (JSON.parse(argument) as Partial<MonitorOptions>);
  return { ...DEFAULT_MONITOR_OPTIONS, ...given };
}
