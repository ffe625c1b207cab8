import type { RunnerView } from '@gimbal/core';
import type { DeviceReading, DeviceSource } from './device-reading.ts';
import { DeviceWatch, type DeviceWatchOptions, type WatchState } from './device-watch.ts';

/** Most pairs of device and code that are counted; there are about 170 codes, few of which are ever seen. */
const MAX_XID_COUNTS = 512;

/** One device with what the policy has decided about it. */
export interface DeviceView {
  readonly reading: DeviceReading;
  readonly state: { readonly kind: 'healthy' | 'pressured' | 'faulted'; readonly because?: string };
  readonly pressureRatio: number;
  readonly permits: { readonly limit: number; readonly held: number };
}

/** A device went from one state to another. */
export interface DeviceChange {
  readonly uuid: string;
  readonly index: number;
  readonly from: string;
  readonly to: string;
  readonly because: string;
}

/** What the board needs of the fleet of devices that core keeps. */
export interface FleetPort {
  observe(readings: readonly DeviceReading[], now: number): readonly DeviceChange[];
  unmonitored(now: number): readonly DeviceChange[];
  views(): readonly DeviceView[];
}

/** One of our runners. */
export interface BoardRunner {
  readonly model: string;
  readonly version: string;
  readonly variant: string;
  readonly view: Pick<RunnerView, 'device' | 'pid'>;
}

export interface DeviceBoardOptions {
  readonly watch: Omit<DeviceWatchOptions, 'onState' | 'onSample'>;
  readonly fleet: FleetPort;
  /** Asked when somebody looks. */
  readonly runners: () => readonly BoardRunner[];
  /** For the log: a new state of the monitor. */
  readonly onMonitor?: (state: WatchState) => void;
  /** For the log, and for those who move work away from a device. */
  readonly onChange?: (change: DeviceChange) => void;
}

export interface DeviceStatus {
  readonly monitor: WatchState;
  readonly source: DeviceSource | undefined;
  readonly driver: string | undefined;
  readonly sampleAgeMs: number | undefined;
  readonly devices: readonly (DeviceView & { readonly runners: readonly string[] })[];
  readonly xids: readonly { readonly uuid: string; readonly xid: number; readonly count: number }[];
}

/** The devices of this machine for everybody in the host: feeds the fleet with samples, and shows all of it together. */
export class DeviceBoard {
  readonly #options: DeviceBoardOptions;
  readonly #watch: DeviceWatch;
  /** By uuid and code. */
  readonly #xids = new Map<string, { uuid: string; xid: number; count: number }>();

  constructor(options: DeviceBoardOptions) {
    this.#options = options;
    this.#watch = new DeviceWatch({
      ...options.watch,
      onState: (state) => this.#onState(state),
      onSample: ({ devices }) => {
        this.#countXids(devices);
        this.#tell(options.fleet.observe(devices, options.watch.clock.now()));
      },
    });
  }

  /** Starts the monitor, or nothing where there is no driver. */
  start(): void {
    this.#watch.start();
  }

  stop(): Promise<void> {
    return this.#watch.stop();
  }

  status(): DeviceStatus {
    const latest = this.#watch.latest();
    const runners = this.#options.runners();
    return {
      monitor: this.#watch.state,
      source: latest?.sample.source,
      driver: latest?.sample.driver,
      sampleAgeMs: latest?.ageMs,
      devices: this.#options.fleet.views().map((view) => ({
        ...view,
        runners: runners.filter((runner) => isOn(view.reading, runner)).map(nameOf),
      })),
      xids: [...this.#xids.values()].map((count) => ({ ...count })),
    };
  }

  #onState(state: WatchState): void {
    this.#options.onMonitor?.(state);
    if (state.kind !== 'unmonitored' && state.kind !== 'cpu-only') return;
    this.#tell(this.#options.fleet.unmonitored(this.#options.watch.clock.now()));
  }

  #tell(changes: readonly DeviceChange[]): void {
    for (const change of changes) this.#options.onChange?.(change);
  }

  #countXids(devices: readonly DeviceReading[]): void {
    for (const { uuid, xids } of devices) {
      for (const xid of xids) {
        const key = `${uuid} ${xid}`;
        const known = this.#xids.get(key);
        if (known) known.count += 1;
        else if (this.#xids.size < MAX_XID_COUNTS) this.#xids.set(key, { uuid, xid, count: 1 });
      }
    }
  }
}

/** By the device that the runner reports, or by its process on the device, where the list can be read. */
function isOn({ index, uuid, processes }: DeviceReading, { view }: BoardRunner): boolean {
  if (view.device === `cuda:${index}` || view.device === `cuda:${uuid}`) return true;
  return view.pid !== undefined && processes?.some(({ pid }) => pid === view.pid) === true;
}

function nameOf({ model, version, variant }: BoardRunner): string {
  return `${model}/${version}/${variant}`;
}
