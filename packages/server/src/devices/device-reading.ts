/** Memory of a device, in bytes. */
export interface DeviceMemory {
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly freeBytes: number;
}

/** A process that computes on a device; its id is that of the outermost namespace that the driver sees. */
export interface DeviceProcess {
  readonly pid: number;
  /** Undefined where the driver does not tell it. */
  readonly usedBytes: number | undefined;
}

/** One look at one device. What could not be read is undefined: a device works without, a made-up 0 would lie. */
export interface DeviceReading {
  /** In the order of the PCI bus. May move when a device goes; `uuid` does not. */
  readonly index: number;
  readonly uuid: string;
  readonly name: string;
  readonly memory: DeviceMemory | undefined;
  /** Share of the last sample period in which something ran, in [0, 1]. */
  readonly busyRatio: number | undefined;
  /** Share of the last sample period in which memory was read or written, in [0, 1]. */
  readonly memoryBusyRatio: number | undefined;
  readonly temperatureCelsius: number | undefined;
  /** Where the device starts to slow itself down. */
  readonly slowdownCelsius: number | undefined;
  readonly powerWatts: number | undefined;
  readonly powerLimitWatts: number | undefined;
  /** Since the driver was loaded. */
  readonly energyJoules: number | undefined;
  /** Errors of memory that could not be corrected, since the driver was loaded. */
  readonly uncorrectedErrors: number | undefined;
  /** Critical errors (NVIDIA's Xid codes) since the last reading. */
  readonly xids: readonly number[];
  /** Undefined where the list may not be read, as in most containers. */
  readonly processes: readonly DeviceProcess[] | undefined;
  /** The driver has lost the device, or wants it reset. */
  readonly lost: boolean;
}

/** What reads the devices. */
export type DeviceSource = 'nvml' | 'nvidia-smi';

/** One look at all devices of the machine. */
export interface DeviceSample {
  readonly source: DeviceSource;
  /** Version of the driver; undefined: not told. */
  readonly driver: string | undefined;
  readonly devices: readonly DeviceReading[];
}
