import type { Random } from '../../base/random.ts';
import type { Instant } from '../../base/time.ts';
import type { DeviceCondition } from './device-condition.ts';
import { DeviceHealth, type DeviceState, type DeviceTransition } from './device-health.ts';
import type { DeviceHealthOptions, DevicePermitOptions } from './options.ts';
import { DevicePermits } from './permits.ts';
import { type Placement, type PlacementDemand, placeRunner } from './placement.ts';

/** Most devices that are kept apart: four times the largest machine that is sold. What is beyond is not used. */
const MAX_DEVICES = 64;

/** One device with what is decided about it. */
export interface FleetDevice {
  readonly health: DeviceHealth;
  readonly permits: DevicePermits;
}

/** `Reading`: what the monitor tells of a device, of which decisions need the `DeviceCondition`. */
export interface FleetDeviceView<Reading extends DeviceCondition> {
  /** The latest one. */
  readonly reading: Reading;
  readonly state: DeviceState;
  readonly pressureRatio: number;
  readonly permits: { readonly limit: number; readonly held: number };
}

interface KnownDevice<Reading> extends FleetDevice {
  reading: Reading;
}

export interface FleetChange extends DeviceTransition {
  readonly uuid: string;
  readonly index: number;
}

export interface FleetOptions {
  readonly random: Random;
  readonly health?: Partial<DeviceHealthOptions>;
  readonly permits?: Partial<DevicePermitOptions>;
}

/** What our runners do on a device, by its uuid; what is not told is nothing. */
export interface DeviceUse {
  readonly reservedBytes?: number;
  readonly reusableBytes?: number;
  readonly runners?: number;
}

export type UseOf = (uuid: string) => DeviceUse;

/**
 * The devices of this machine: one health and one count of permits for each, fed by samples of all of them. A device
 * that vanishes is kept, as faulted, so that it is still seen to be missing and may come back.
 */
export class DeviceFleet<Reading extends DeviceCondition> {
  readonly #options: FleetOptions;
  readonly #devices = new Map<string, KnownDevice<Reading>>();

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** A sample of all devices. */
  observe(readings: readonly Reading[], now: Instant, useOf: UseOf = () => ({})): FleetChange[] {
    const changes: FleetChange[] = [];
    const seen = new Set<string>();
    for (const reading of readings) {
      const device = this.#known(reading);
      if (!device) continue;
      seen.add(reading.uuid);
      device.reading = reading;
      const transition = device.health.observe(reading, now);
      device.permits.observe({
        freeBytes: reading.memory?.freeBytes,
        reusableBytes: useOf(reading.uuid).reusableBytes ?? 0,
      });
      this.#tell(device, transition, changes);
    }
    for (const [uuid, device] of this.#devices) {
      if (!seen.has(uuid)) this.#tell(device, device.health.missed(now), changes);
    }
    return changes;
  }

  /** The monitor is gone: decisions go on without what it saw. */
  unmonitored(now: Instant): FleetChange[] {
    const changes: FleetChange[] = [];
    for (const device of this.#devices.values()) {
      device.permits.observe({ freeBytes: undefined });
      this.#tell(device, device.health.unmonitored(now), changes);
    }
    return changes;
  }

  device(uuid: string): FleetDevice | undefined {
    return this.#devices.get(uuid);
  }

  /** After `ran` or `probed` of a device's health: its permits follow the state. */
  settle(uuid: string): void {
    const device = this.#devices.get(uuid);
    if (device) device.permits.works = device.health.state.kind !== 'faulted';
  }

  place(demand: PlacementDemand, useOf: UseOf = () => ({})): Placement {
    const candidates = [...this.#devices].map(([uuid, { reading, health }]) => {
      const { reservedBytes = 0, runners = 0 } = useOf(uuid);
      return {
        uuid,
        index: reading.index,
        freeBytes: reading.memory?.freeBytes,
        totalBytes: reading.memory?.totalBytes,
        reservedBytes,
        runners,
        state: health.state.kind,
      };
    });
    return placeRunner(candidates, demand);
  }

  views(): FleetDeviceView<Reading>[] {
    return [...this.#devices.values()]
      .map(({ reading, health, permits }) => ({
        reading,
        state: health.state,
        pressureRatio: health.pressureRatio,
        permits: { limit: permits.limit, held: permits.held },
      }))
      .sort((left, right) => left.reading.index - right.reading.index);
  }

  /** The pressure of the device that is pressed most, in [0, 1]. */
  get pressureRatio(): number {
    return Math.max(0, ...[...this.#devices.values()].map(({ health }) => health.pressureRatio));
  }

  #known(reading: Reading): KnownDevice<Reading> | undefined {
    const known = this.#devices.get(reading.uuid);
    if (known || this.#devices.size >= MAX_DEVICES) return known;
    const { random, health, permits } = this.#options;
    const device = {
      health: new DeviceHealth(random, health),
      permits: new DevicePermits(permits),
      reading,
    };
    this.#devices.set(reading.uuid, device);
    return device;
  }

  #tell(
    device: KnownDevice<Reading>,
    transition: DeviceTransition | undefined,
    changes: FleetChange[],
  ): void {
    device.permits.works = device.health.state.kind !== 'faulted';
    const { uuid, index } = device.reading;
    if (transition) changes.push({ ...transition, uuid, index });
  }
}
