import { createRequire } from 'node:module';
import type * as Koffi from 'koffi';

/** NVML's return codes that we tell apart (nvml.h, nvmlReturn_t). */
export const NVML = {
  success: 0,
  notSupported: 3,
  noPermission: 4,
  insufficientSize: 7,
  timeout: 10,
  functionNotFound: 13,
  gpuIsLost: 15,
  resetRequired: 16,
} as const;

/** nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t, nvmlEventType… */
const SENSOR_GPU = 0;
const THRESHOLD_SLOWDOWN = 1;
const ERROR_UNCORRECTED = 1;
const COUNTER_VOLATILE = 0;
const EVENT_XID = 8n;
/** NVML_DEVICE_UUID_V2_BUFFER_SIZE and NVML_DEVICE_NAME_V2_BUFFER_SIZE. */
const TEXT_BYTES = 96;
/** sizeof(nvmlProcessInfo_t): pid, padding, usedGpuMemory, gpuInstanceId, computeInstanceId. */
export const PROCESS_BYTES = 24;

/** The handle that NVML gives for a device: stable for the life of the library. */
export type NvmlDevice = bigint;

/** The result of a call: its code, and its value when the code is 0. */
export type NvmlResult<T> =
  | { readonly code: 0; readonly value: T }
  | { readonly code: number; readonly value: undefined };

export interface NvmlEvent {
  readonly device: NvmlDevice;
  readonly data: number;
}

/** The calls of NVML that the monitor makes. Each may hang or crash with its process: only the monitor's is at stake. */
export interface NvmlLibrary {
  init(): number;
  shutdown(): number;
  describe(code: number): string;
  driverVersion(): NvmlResult<string>;
  deviceCount(): NvmlResult<number>;
  device(index: number): NvmlResult<NvmlDevice>;
  uuid(device: NvmlDevice): NvmlResult<string>;
  name(device: NvmlDevice): NvmlResult<string>;
  memory(device: NvmlDevice): NvmlResult<{ total: number; free: number; used: number }>;
  utilization(device: NvmlDevice): NvmlResult<{ gpu: number; memory: number }>;
  temperature(device: NvmlDevice): NvmlResult<number>;
  slowdownTemperature(device: NvmlDevice): NvmlResult<number>;
  powerMilliwatts(device: NvmlDevice): NvmlResult<number>;
  powerLimitMilliwatts(device: NvmlDevice): NvmlResult<number>;
  energyMillijoules(device: NvmlDevice): NvmlResult<number>;
  uncorrectedErrors(device: NvmlDevice): NvmlResult<number>;
  /** Fills `space` with processes; the value is how many there are, with `insufficientSize` how many it must hold. */
  processes(device: NvmlDevice, space: Buffer): { readonly code: number; readonly count: number };
  /** Undefined where there are no events. */
  createEvents(): bigint | undefined;
  watch(device: NvmlDevice, events: bigint): number;
  /** The next event that has already come. */
  nextEvent(events: bigint): NvmlResult<NvmlEvent>;
}

type Call = (...parameters: unknown[]) => unknown;

/** NVML, or a sentence that says why it can't be loaded. */
export function loadNvml(path: string): NvmlLibrary | string {
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
    const library = koffi.load(path);
    declareTypes(koffi);
    return bind((name, parameters, result = 'int') => {
      try {
        return library.func(`${result} ${name}(${parameters})`) as Call;
      } catch {
        // A driver that is older than the function.
        return () => NVML.functionNotFound;
      }
    });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function declareTypes(koffi: typeof Koffi): void {
  koffi.struct('nvmlMemory_t', { total: 'uint64_t', free: 'uint64_t', used: 'uint64_t' });
  koffi.struct('nvmlUtilization_t', { gpu: 'uint32_t', memory: 'uint32_t' });
  koffi.struct('nvmlEventData_t', {
    device: 'uint64_t',
    eventType: 'uint64_t',
    eventData: 'uint64_t',
    gpuInstanceId: 'uint32_t',
    computeInstanceId: 'uint32_t',
  });
}

type Bind = (name: string, parameters: string, result?: string) => Call;

/** Handles travel as 64-bit integers: pointers that nobody here looks through. */
function bind(call: Bind): NvmlLibrary {
  const device = 'uint64_t device';
  const init = call('nvmlInit_v2', '');
  const shutdown = call('nvmlShutdown', '');
  const errorString = call('nvmlErrorString', 'int code', 'const char *');
  const uuid = call('nvmlDeviceGetUUID', `${device}, void *text, unsigned int length`);
  const name = call('nvmlDeviceGetName', `${device}, void *text, unsigned int length`);
  const driver = call('nvmlSystemGetDriverVersion', 'void *text, unsigned int length');
  const count = call('nvmlDeviceGetCount_v2', '_Out_ uint32_t *count');
  const handle = call('nvmlDeviceGetHandleByIndex_v2', 'unsigned int index, _Out_ uint64_t *device');
  const memory = call('nvmlDeviceGetMemoryInfo', `${device}, _Out_ nvmlMemory_t *memory`);
  const utilization = call('nvmlDeviceGetUtilizationRates', `${device}, _Out_ nvmlUtilization_t *rates`);
  const temperature = call('nvmlDeviceGetTemperature', `${device}, int sensor, _Out_ uint32_t *celsius`);
  const threshold = call('nvmlDeviceGetTemperatureThreshold', `${device}, int kind, _Out_ uint32_t *celsius`);
  const power = call('nvmlDeviceGetPowerUsage', `${device}, _Out_ uint32_t *milliwatts`);
  const powerLimit = call('nvmlDeviceGetEnforcedPowerLimit', `${device}, _Out_ uint32_t *milliwatts`);
  const energy = call('nvmlDeviceGetTotalEnergyConsumption', `${device}, _Out_ uint64_t *millijoules`);
  const ecc = call('nvmlDeviceGetTotalEccErrors', `${device}, int kind, int counter, _Out_ uint64_t *count`);
  return {
    init: () => init() as number,
    shutdown: () => shutdown() as number,
    describe: (code) => {
      const text = errorString(code);
      return typeof text === 'string' ? text : `error ${code}`;
    },
    driverVersion: () => textOf((text) => driver(text, TEXT_BYTES)),
    deviceCount: () => numberOf((out) => count(out)),
    device: (index) => handleOf((out) => handle(index, out)),
    uuid: (of) => textOf((text) => uuid(of, text, TEXT_BYTES)),
    name: (of) => textOf((text) => name(of, text, TEXT_BYTES)),
    memory: (of) => {
      const out = { total: 0, free: 0, used: 0 };
      const code = memory(of, out) as number;
      const value = { total: Number(out.total), free: Number(out.free), used: Number(out.used) };
      return resultOf(code, value);
    },
    utilization: (of) => {
      const out = { gpu: 0, memory: 0 };
      return resultOf(utilization(of, out) as number, out);
    },
    temperature: (of) => numberOf((out) => temperature(of, SENSOR_GPU, out)),
    slowdownTemperature: (of) => numberOf((out) => threshold(of, THRESHOLD_SLOWDOWN, out)),
    powerMilliwatts: (of) => numberOf((out) => power(of, out)),
    powerLimitMilliwatts: (of) => numberOf((out) => powerLimit(of, out)),
    energyMillijoules: (of) => numberOf((out) => energy(of, out)),
    uncorrectedErrors: (of) => numberOf((out) => ecc(of, ERROR_UNCORRECTED, COUNTER_VOLATILE, out)),
    ...bindProcesses(call),
    ...bindEvents(call),
  };
}

function bindProcesses(call: Bind): Pick<NvmlLibrary, 'processes'> {
  const parameters = 'uint64_t device, _Inout_ uint32_t *count, void *infos';
  const newest = call('nvmlDeviceGetComputeRunningProcesses_v3', parameters);
  // The same layout under the name that drivers before 510 have.
  const older = call('nvmlDeviceGetComputeRunningProcesses_v2', parameters);
  const ask = (list: Call, device: NvmlDevice, space: Buffer): { code: number; count: number } => {
    const count = [Math.floor(space.length / PROCESS_BYTES)];
    const code = list(device, count, space) as number;
    return { code, count: count[0] ?? 0 };
  };
  return {
    processes: (device, space) => {
      const answer = ask(newest, device, space);
      return answer.code === NVML.functionNotFound ? ask(older, device, space) : answer;
    },
  };
}

function bindEvents(call: Bind): Pick<NvmlLibrary, 'createEvents' | 'watch' | 'nextEvent'> {
  const create = call('nvmlEventSetCreate', '_Out_ uint64_t *events');
  const register = call('nvmlDeviceRegisterEvents', 'uint64_t device, uint64_t types, uint64_t events');
  const wait = call(
    'nvmlEventSetWait_v2',
    'uint64_t events, _Out_ nvmlEventData_t *event, unsigned int timeoutMs',
  );
  return {
    createEvents: () => handleOf((out) => create(out)).value,
    watch: (device, events) => register(device, EVENT_XID, events) as number,
    nextEvent: (events) => {
      const out = { device: 0n, eventType: 0n, eventData: 0n };
      const code = wait(events, out, 0) as number;
      return resultOf(code, { device: BigInt(out.device), data: Number(out.eventData) });
    },
  };
}

function resultOf<T>(code: number, value: T): NvmlResult<T> {
  return code === 0 ? { code: 0, value } : { code, value: undefined };
}

function numberOf(ask: (out: number[]) => unknown): NvmlResult<number> {
  const out = [0];
  const code = ask(out) as number;
  return resultOf(code, Number(out[0]));
}

function handleOf(ask: (out: unknown[]) => unknown): NvmlResult<bigint> {
  const out: unknown[] = [0n];
  const code = ask(out) as number;
  return resultOf(code, BigInt(out[0] as bigint | number));
}

function textOf(ask: (text: Buffer) => unknown): NvmlResult<string> {
  const text = Buffer.alloc(TEXT_BYTES);
  const code = ask(text) as number;
  const end = text.indexOf(0);
  return resultOf(code, text.toString('utf8', 0, end < 0 ? TEXT_BYTES : end));
}
