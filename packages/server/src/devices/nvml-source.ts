import type { DeviceProcess, DeviceReading, DeviceSample } from './device-reading.ts';
import type { OpenSource } from './device-source.ts';
import { MAX_DEVICES, MAX_PROCESSES, MAX_XIDS } from './monitor-frame.ts';
import {
  loadNvml,
  NVML,
  type NvmlDevice,
  type NvmlLibrary,
  type NvmlResult,
  PROCESS_BYTES,
} from './nvml-library.ts';

/** Room for so many processes at first; most devices have fewer. */
const FIRST_PROCESSES = 32;
/** A list that is longer is taken for unreadable. */
const MOST_PROCESSES = 4096;
/** The list may grow between two calls, but not for ever: then it is taken for unreadable. */
const MAX_LIST_CALLS = 5;
/** Most events that are read in one sample; a device that fails can raise thousands a second. */
const MAX_EVENTS = 256;

/** NVML's own library as a source, or a sentence that says why not. */
export function openNvml(path: string): OpenSource | string {
  const library = loadNvml(path);
  if (typeof library === 'string') return `NVML can't be loaded: ${library}`;
  const code = library.init();
  if (code !== NVML.success) return `NVML can't be initialised: ${library.describe(code)}`;
  const count = library.deviceCount();
  if (count.value === undefined) return `NVML can't count devices: ${library.describe(count.code)}`;
  if (count.value === 0) return 'the driver lists no device';
  return new NvmlSource(library);
}

interface Identity {
  readonly uuid: string;
  readonly name: string;
}

class NvmlSource implements OpenSource {
  readonly #library: NvmlLibrary;
  readonly #driver: string | undefined;
  readonly #events: bigint | undefined;
  /** Devices whose events are watched, at most as many as there are. */
  readonly #watched = new Set<NvmlDevice>();
  /** By index: a device that falls off the bus is still the one that it was. */
  readonly #identities = new Map<number, Identity>();
  #space = Buffer.alloc(FIRST_PROCESSES * PROCESS_BYTES);

  constructor(library: NvmlLibrary) {
    this.#library = library;
    this.#driver = library.driverVersion().value;
    this.#events = library.createEvents();
  }

  /** Throws when the library as a whole does not answer any more; faults of single calls leave gaps. */
  sample(): DeviceSample {
    const count = this.#library.deviceCount();
    if (count.value === undefined) {
      throw new Error(`NVML can't count devices: ${this.#library.describe(count.code)}`);
    }
    const total = Math.min(count.value, MAX_DEVICES);
    const handles = Array.from({ length: total }, (_, index) => this.#library.device(index));
    for (const { value } of handles) if (value !== undefined) this.#watch(value);
    const xids = this.#drainEvents();
    return {
      source: 'nvml',
      driver: this.#driver,
      devices: handles.map((handle, index) => this.#read(handle, index, xids)),
    };
  }

  close(): void {
    this.#library.shutdown();
  }

  #read(
    handle: NvmlResult<NvmlDevice>,
    index: number,
    xids: ReadonlyMap<NvmlDevice, readonly number[]>,
  ): DeviceReading {
    const device = handle.value;
    const known = this.#identities.get(index) ?? { uuid: `index-${index}`, name: 'NVIDIA device' };
    if (device === undefined) return unreadable({ index, ...known, lost: isLost(handle.code) });
    const library = this.#library;
    const uuid = library.uuid(device);
    const identity = {
      uuid: uuid.value ?? known.uuid,
      name: library.name(device).value ?? known.name,
    };
    this.#identities.set(index, identity);
    const memory = library.memory(device);
    const rates = library.utilization(device).value;
    return {
      index,
      ...identity,
      memory: memory.value && {
        totalBytes: memory.value.total,
        usedBytes: memory.value.used,
        freeBytes: memory.value.free,
      },
      busyRatio: rates && Math.min(1, rates.gpu / 100),
      memoryBusyRatio: rates && Math.min(1, rates.memory / 100),
      temperatureCelsius: library.temperature(device).value,
      slowdownCelsius: library.slowdownTemperature(device).value,
      powerWatts: thousandth(library.powerMilliwatts(device).value),
      powerLimitWatts: thousandth(library.powerLimitMilliwatts(device).value),
      energyJoules: thousandth(library.energyMillijoules(device).value),
      uncorrectedErrors: library.uncorrectedErrors(device).value,
      xids: xids.get(device) ?? [],
      processes: this.#processes(device),
      lost: isLost(uuid.code) || isLost(memory.code),
    };
  }

  /** Undefined: the list may not be read. The device works without. */
  #processes(device: NvmlDevice): readonly DeviceProcess[] | undefined {
    for (let calls = 0; calls < MAX_LIST_CALLS; calls += 1) {
      const { code, count } = this.#library.processes(device, this.#space);
      if (code === NVML.success) return processesIn(this.#space, count);
      if (code !== NVML.insufficientSize) return undefined;
      const room = this.#space.length / PROCESS_BYTES;
      // Some drivers do not say how many there are; the list may also have grown since.
      const wanted = Math.max(room * 2, count + FIRST_PROCESSES);
      if (wanted > MOST_PROCESSES) return undefined;
      this.#space = Buffer.alloc(wanted * PROCESS_BYTES);
    }
    return undefined;
  }

  #watch(device: NvmlDevice): void {
    if (this.#events === undefined || this.#watched.has(device)) return;
    // Tried once: where events are not supported they never will be.
    this.#watched.add(device);
    this.#library.watch(device, this.#events);
  }

  #drainEvents(): ReadonlyMap<NvmlDevice, readonly number[]> {
    const xids = new Map<NvmlDevice, number[]>();
    if (this.#events === undefined) return xids;
    for (let read = 0; read < MAX_EVENTS; read += 1) {
      const event = this.#library.nextEvent(this.#events).value;
      if (!event) break;
      const known = xids.get(event.device) ?? [];
      if (known.length < MAX_XIDS && !known.includes(event.data)) known.push(event.data);
      xids.set(event.device, known);
    }
    return xids;
  }
}

function processesIn(space: Buffer, count: number): readonly DeviceProcess[] {
  const total = Math.min(count, space.length / PROCESS_BYTES);
  const processes = Array.from({ length: total }, (_, index) => {
    const at = index * PROCESS_BYTES;
    const usedBytes = Number(space.readBigUInt64LE(at + 8));
    // NVML_VALUE_NOT_AVAILABLE is the largest number there is.
    return {
      pid: space.readUInt32LE(at),
      usedBytes: usedBytes > Number.MAX_SAFE_INTEGER ? undefined : usedBytes,
    };
  });
  return processes
    .sort((left, right) => (right.usedBytes ?? 0) - (left.usedBytes ?? 0))
    .slice(0, MAX_PROCESSES);
}

/** A device that gives no handle: nothing can be read of it. */
function unreadable(known: Pick<DeviceReading, 'index' | 'uuid' | 'name' | 'lost'>): DeviceReading {
  return {
    ...known,
    memory: undefined,
    busyRatio: undefined,
    memoryBusyRatio: undefined,
    temperatureCelsius: undefined,
    slowdownCelsius: undefined,
    powerWatts: undefined,
    powerLimitWatts: undefined,
    energyJoules: undefined,
    uncorrectedErrors: undefined,
    xids: [],
    processes: undefined,
  };
}

function isLost(code: number): boolean {
  return code === NVML.gpuIsLost || code === NVML.resetRequired;
}

function thousandth(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value / 1000;
}
